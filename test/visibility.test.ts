import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { storedQr } from "./support/rows.js";

/** Every operation on one resource; `{qr}`, `{agent}` and `{ref}` stand for it. */
const OPERATIONS: [method: string, path: string, body?: object][] = [
  ["GET", "/v1/qr/{qr}"],
  ["PATCH", "/v1/qr/{qr}", { name: "mine now" }],
  ["DELETE", "/v1/qr/{qr}"],
  ["GET", "/v1/qr/by-external-reference/{ref}"],
  ["GET", "/v1/qr/by-external-reference/{ref}/public-voice-readiness"],
  ["GET", "/v1/qr/{qr}/paywall"],
  ["PUT", "/v1/qr/{qr}/paywall", { paywall_enabled: true }],
  ["GET", "/v1/qr/{qr}/agent"],
  ["DELETE", "/v1/qr/{qr}/agent"],
  ["GET", "/v1/agents/{agent}"],
  ["PATCH", "/v1/agents/{agent}", { name: "mine now" }],
  ["DELETE", "/v1/agents/{agent}"],
  ["GET", "/v1/agents/by-external-reference/{ref}"],
];

const REQUEST_ID = { "X-Request-ID": "the-same-for-all" };

/** What a caller can tell two answers apart by; the date aside. */
const observable = ({ status, headers, text }: Answer) => {
  const { date: _date, ...rest } = headers;
  return { status, headers: rest, text };
};

onEachBackend("another owner's resources", (backend) => {
  let owner: TestOwner;
  let stranger: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
    stranger = await newOwner(backend);
  });

  it("answer with the very bytes of what is not there, whatever is asked of them", async () => {
    const reference = "somebody's";
    const qr = await newQr(owner, { external_reference: reference });
    const agent = await newAgent(owner, { external_reference: reference });
    const gone = await newQr(stranger);
    expectOk(await stranger.api.delete(`/v1/qr/${gone.short_id}`, ifMatch(1)));
    const there = { qr: qr.short_id, agent: String(agent.id), ref: encodeURIComponent(reference) };
    const absent = { qr: "2222222222", agent: "2147483647", ref: "nobody" };
    const deleted = { ...absent, qr: gone.short_id };
    const before = await storedQr(owner, qr.short_id);

    for (const [method, path, body] of OPERATIONS) {
      const ask = async (names: Record<string, string>) => {
        const url = path.replace(/\{(\w+)\}/, (_match, name: string) => names[name] as string);
        return stranger.api.call(method, url, body, { ...ifMatch(1), ...REQUEST_ID });
      };
      const answer = await ask(there);
      expectError(answer, 404, "RESOURCE_NOT_FOUND", null);
      expect(observable(answer), `${method} ${path}`).to.deep.equal(observable(await ask(absent)));
      expect(observable(answer), `${method} ${path}`).to.deep.equal(observable(await ask(deleted)));
    }
    expect(await storedQr(owner, qr.short_id)).to.deep.equal(before);
    expect(expectOk(await owner.api.get(`/v1/agents/${agent.id}`))).to.deep.equal(agent);
  });

  it("cannot be attached, to one's own or to theirs, at any version", async () => {
    const [mine, theirs] = [await newQr(stranger), await newQr(owner)];
    const [myAgent, theirAgent] = [await newAgent(stranger), await newAgent(owner)];
    const inactive = await newAgent(owner, { is_active: false });
    const attach = (qr: { short_id: string }, agent: { id: number }, version: number) =>
      stranger.api.put(`/v1/qr/${qr.short_id}/agent`, { agent_id: agent.id }, { ...ifMatch(version), ...REQUEST_ID });
    const answers = [
      await attach(mine, { id: 2147483647 }, 1),
      await attach(mine, theirAgent, 1),
      await attach(mine, theirAgent, 9),
      await attach(mine, inactive, 1),
      await attach(theirs, myAgent, 1),
      await attach(theirs, theirAgent, 1),
      await attach(theirs, theirAgent, 9),
    ];
    for (const answer of answers) {
      expectError(answer, 404, "RESOURCE_NOT_FOUND", null);
      expect(observable(answer)).to.deep.equal(observable(answers[0] as Answer));
    }
    expect(await storedQr(stranger, mine.short_id)).to.include({ agent_id: null, binding_version: 1 });
    expect(await storedQr(owner, theirs.short_id)).to.include({ agent_id: null, binding_version: 1 });
  });
});
