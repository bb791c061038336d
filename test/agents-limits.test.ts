import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectIssues, expectOk, ifMatch } from "./support/http.js";
import {
  expectFieldIssue,
  type Field,
  NO_BOOLEAN,
  NO_TEXT,
  shown,
  textsOf,
  textsOfBytes,
  textsPast,
  textsPastBytes,
} from "./support/limits.js";
import { newAgent, newOwner, type TestOwner } from "./support/owners.js";

const BYTES = 65_535;

const text = (name: string, max: number): Field => ({
  name,
  taken: [...textsOf(max), "", "line\nbreak\ttab"],
  refused: [...textsPast(max), ...NO_TEXT],
  null: "clears",
});
const bytes = (name: string): Field => ({
  name,
  taken: [...textsOfBytes(BYTES), "", " ", '[{"a": 1 }] '],
  refused: [...textsPastBytes(BYTES), ...NO_TEXT],
  null: "clears",
});
/** Open sets: what no provider has today is taken too. */
const open = (name: string): Field => ({
  name,
  taken: [...textsOf(128), "a", "provider-9.9-of-tomorrow", "\u58F0 1"],
  refused: ["", ...textsPast(128), "a\n", "\t", "a\u007Fb", "a\u0085b", ...NO_TEXT],
  null: "keeps",
});
const flag = (name: string): Field => ({ name, taken: [true, false], refused: NO_BOOLEAN, null: "keeps" });

const FIELDS: Field[] = [
  { name: "name", taken: [...textsOf(255), "x", " "], refused: ["", ...textsPast(255), ...NO_TEXT], null: "keeps" },
  text("description", 2000),
  text("greeting_message", 2000),
  text("trigger_message", 2000),
  bytes("system_prompt"),
  bytes("tools"),
  bytes("extra_config"),
  open("model"),
  open("voice_name"),
  open("turn_coverage"),
  flag("greeting_enabled"),
  flag("trigger_enabled"),
  flag("email_notifications_enabled"),
  flag("is_active"),
];

onEachBackend("the limits of an agent", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  const read = async (id: number) => expectOk(await owner.api.get(`/v1/agents/${id}`));
  const patch = (id: number, body: object, version: number) =>
    owner.api.patch(`/v1/agents/${id}`, body, ifMatch(version));

  for (const field of FIELDS) {
    it(`takes ${field.name} up to its limit, byte for byte`, async () => {
      for (const value of field.taken) {
        const created = await newAgent(owner, { [field.name]: value });
        expect(created[field.name], shown(value)).to.equal(value);
        expect(await read(created.id)).to.deep.equal(created);
        const plain = await newAgent(owner);
        const changed = expectOk(await patch(plain.id, { [field.name]: value }, 1));
        const expected = { ...plain, [field.name]: value, resource_version: 2, updated_at: changed.updated_at };
        expect(changed, shown(value)).to.deep.equal(expected);
        expect(await read(plain.id)).to.deep.equal(changed);
      }
    });

    it(`refuses ${field.name} past its limit, and changes nothing`, async () => {
      const agent = await newAgent(owner);
      for (const value of field.refused) {
        const body = { [field.name]: value };
        expectFieldIssue(await owner.api.post("/v1/agents", { name: "x", ...body }), field.name, value);
        expectFieldIssue(await patch(agent.id, body, 1), field.name, value);
      }
      expect(await read(agent.id)).to.deep.equal(agent);
    });

    it(`${field.null} ${field.name} at null in a PATCH, and leaves it where it is absent`, async () => {
      const value = field.taken.at(-1);
      const agent = await newAgent(owner, { [field.name]: value });
      const untouched = expectOk(await patch(agent.id, {}, 1));
      expect(untouched).to.deep.equal({ ...agent, resource_version: 2, updated_at: untouched.updated_at });
      const nulled = expectOk(await patch(agent.id, { [field.name]: null }, 2));
      const expected = {
        ...agent,
        [field.name]: field.null === "clears" ? null : value,
        resource_version: 3,
        updated_at: nulled.updated_at,
      };
      expect(nulled).to.deep.equal(expected);
      expect(await read(agent.id)).to.deep.equal(expected);
    });

    it(`${field.null === "clears" ? "takes" : "refuses"} null for ${field.name} on create`, async () => {
      const answer = await owner.api.post("/v1/agents", { name: "x", [field.name]: null });
      if (field.null === "clears") expect(expectOk(answer)[field.name]).to.equal(null);
      else expectFieldIssue(answer, field.name, null);
    });
  }

  it("requires a name, and nothing else", async () => {
    expect(expectIssues(await owner.api.post("/v1/agents", {}))).to.have.length(1);
    expectFieldIssue(await owner.api.post("/v1/agents", { description: "x" }), "name", undefined);
  });

  it("names unknown fields", async () => {
    const agent = await newAgent(owner);
    for (const name of ["id", "agent_id", "resource_version", "created_at", "Name", "toString", "idempotency_key"]) {
      const expected = [{ location: "body", path: name, message: "There is no such field." }];
      expect(expectIssues(await owner.api.post("/v1/agents", { name: "x", [name]: 1 }))).to.deep.equal(expected);
      expect(expectIssues(await patch(agent.id, { [name]: 1 }, 1))).to.deep.equal(expected);
    }
  });
});
