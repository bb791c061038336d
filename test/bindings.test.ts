import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectError, expectIssues, expectOk, ifMatch, keyed } from "./support/http.js";
import { shown, textsOf, textsOfBytes, textsPast, textsPastBytes } from "./support/limits.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { auditOf, storedQr } from "./support/rows.js";

const LIMITS = [
  { name: "greeting_message", taken: [...textsOf(2000), ""], refused: textsPast(2000) },
  { name: "system_prompt", taken: [...textsOfBytes(65_535), ""], refused: textsPastBytes(65_535) },
  { name: "voice_name", taken: textsOf(128), refused: ["", "a\n", ...textsPast(128)] },
];
const NONE = { greeting_message: null, system_prompt: null, voice_name: null };

onEachBackend("bindings", (backend) => {
  let owner: TestOwner;
  let agent: { id: number };
  let qr: { short_id: string };
  beforeEach(async () => {
    owner ??= await newOwner(backend);
    agent = await newAgent(owner);
    qr = await newQr(owner);
  });

  const path = (code = qr) => `/v1/qr/${code.short_id}/agent`;
  const read = async (code = qr) => expectOk(await owner.api.get(path(code)));
  const attach = (version: number, body: object = {}, headers = {}) =>
    owner.api.put(path(), { agent_id: agent.id, ...body }, { ...ifMatch(version), ...headers });
  const detach = (version: number, headers = {}) => owner.api.delete(path(), { ...ifMatch(version), ...headers });

  const expectRefused = (answer: Answer, code: string, details: unknown = null) => {
    expectError(answer, 409, code, details);
    expect(answer.headers["retry-after"], "every 409 of an idempotent operation").to.match(/^[1-9]\d*$/);
  };
  const expectStale = (answer: Answer, expected: number, current: number) =>
    expectRefused(answer, "RESOURCE_VERSION_CONFLICT", { expected_version: expected, current_version: current });

  it("are there from birth, at version 1 with no agent", async () => {
    const { updated_at, ...rest } = await read();
    expect(rest).to.deep.equal({ short_id: qr.short_id, binding_version: 1, agent: null, override: null });
    expect(updated_at).to.equal(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`)).created_at);
  });

  it("are attached, replaced and detached, 1 a time", async () => {
    const other = await newAgent(owner);
    expectOk(await owner.api.patch(`/v1/agents/${other.id}`, {}, ifMatch(1)));
    const steps: [answer: () => Promise<Answer>, agent: object | null, override: object | null][] = [
      [() => attach(1), { id: agent.id, resource_version: 1 }, null],
      [() => attach(2), { id: agent.id, resource_version: 1 }, null],
      [
        () => attach(3, { agent_id: other.id, override: { voice_name: "Kore" } }),
        { id: other.id, resource_version: 2 },
        { ...NONE, voice_name: "Kore" },
      ],
      [() => attach(4, { agent_id: other.id }), { id: other.id, resource_version: 2 }, null],
      [
        () => attach(5, { override: { system_prompt: "s" } }),
        { id: agent.id, resource_version: 1 },
        { ...NONE, system_prompt: "s" },
      ],
      [() => detach(6), null, null],
      [() => detach(7), null, null],
    ];
    for (const [index, [step, expectedAgent, override]] of steps.entries()) {
      const { updated_at: _at, ...binding } = expectOk(await step());
      const version = index + 2;
      expect(binding).to.deep.equal({
        short_id: qr.short_id,
        binding_version: version,
        agent: expectedAgent,
        override,
      });
      expect(await read()).to.deep.include(binding);
    }
    expect(await storedQr(owner, qr.short_id)).to.include({
      binding_marker: null,
      agent_id: null,
      resource_version: 1,
    });
  });

  it("move no other counter, and follow the agent's version", async () => {
    const neighbour = await newQr(owner);
    const before = await read(neighbour);
    expectOk(await attach(1));
    expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "n" }, ifMatch(1)));
    expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { name: "n" }, ifMatch(1)));
    expect(await read()).to.deep.include({ binding_version: 2, agent: { id: agent.id, resource_version: 2 } });
    expect(await read(neighbour)).to.deep.equal(before);
    expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`)).resource_version).to.equal(2);
    expectOk(await detach(2));
    expect(expectOk(await owner.api.get(`/v1/agents/${agent.id}`)).resource_version).to.equal(2);
  });

  it("take an override by the limits of an agent, byte for byte", async () => {
    let version = 1;
    for (const { name, taken, refused } of LIMITS) {
      for (const value of taken) {
        const bound = expectOk(await attach(version++, { override: { [name]: value } }));
        expect(bound.override, shown(value)).to.deep.equal({ ...NONE, [name]: value });
        expect((await read()).override).to.deep.equal(bound.override);
      }
      for (const value of [...refused, 1, false, [], {}, "\0"]) {
        const issues = expectIssues(await attach(version, { override: { [name]: value } }));
        expect(issues[0]?.location, shown(value)).to.equal("body");
        if (value !== "\0") expect(issues[0]?.path).to.equal(`override.${name}`);
      }
    }
    expect((await read()).binding_version).to.equal(version);
  });

  it("know an override without any value for none, and refuse what is not one", async () => {
    let version = 1;
    for (const override of [{}, null, NONE, { voice_name: null }]) {
      expectOk(await attach(version++, { override: { greeting_message: "before" } }));
      expect(expectOk(await attach(version++, { override })).override).to.equal(null);
    }
    for (const override of ["x", 1, true, []])
      expect(expectIssues(await attach(version, { override }))[0]).to.include({ location: "body", path: "override" });
    for (const name of ["model", "Voice_name", "toString"]) {
      const issues = expectIssues(await attach(version, { override: { [name]: "x" } }));
      expect(issues).to.deep.equal([
        { location: "body", path: `override.${name}`, message: "There is no such field." },
      ]);
    }
    for (const id of ["7", 1.5, null, true, undefined, [1]])
      expect(expectIssues(await attach(version, { agent_id: id }))[0]).to.include({
        location: "body",
        path: "agent_id",
      });
    for (const id of [0, -1, 2147483647, 2147483648, 9007199254740991])
      expectError(await attach(version, { agent_id: id }), 404, "RESOURCE_NOT_FOUND", null);
  });

  it("answer 404 before the version, and the version before the state", async () => {
    const inactive = await newAgent(owner, { is_active: false });
    expectError(await attach(9, { agent_id: 2147483647 }), 404, "RESOURCE_NOT_FOUND");
    expectStale(await attach(9, { agent_id: inactive.id }), 9, 1);
    expectRefused(await attach(1, { agent_id: inactive.id }), "BINDING_TARGET_INACTIVE");
    expectStale(await detach(2), 2, 1);
    expect(await read()).to.deep.include({ binding_version: 1, agent: null });
    expectOk(await attach(1));
    expectRefused(await attach(2, { agent_id: inactive.id }), "BINDING_TARGET_INACTIVE");
    expect(await read(), "the old one stays").to.deep.include({ agent: { id: agent.id, resource_version: 1 } });
  });

  it("refuse an inactive agent that was active before, and the one bound already", async () => {
    expectOk(await attach(1));
    expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { is_active: false }, ifMatch(1)));
    expectRefused(await attach(2, { override: { voice_name: "Kore" } }), "BINDING_TARGET_INACTIVE");
    expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { is_active: true }, ifMatch(2)));
    expect(expectOk(await attach(2)).agent).to.deep.equal({ id: agent.id, resource_version: 3 });
  });

  it("replay before the version, the state and even the code's end are looked at", async () => {
    const attachKey = keyed(`attach-${qr.short_id}`);
    const detachKey = keyed(`detach-${qr.short_id}`);
    const attached = await attach(1, {}, attachKey);
    expect(expectOk(attached).binding_version).to.equal(2);
    expect(attached.headers).not.to.have.property("idempotency-replayed");
    const detached = await detach(2, detachKey);
    expect(expectOk(detached).binding_version).to.equal(3);

    const expectReplays = async () => {
      for (const [first, again] of [
        [attached, await attach(1, {}, attachKey)],
        [detached, await detach(2, detachKey)],
      ] as const) {
        expectOk(again);
        expect(again.text).to.equal(first.text);
        expect(again.headers["idempotency-replayed"]).to.equal("true");
        expect(again.headers["x-request-id"]).not.to.equal(first.headers["x-request-id"]);
      }
    };
    await expectReplays();
    expect((await read()).binding_version).to.equal(3);
    expectRefused(await attach(3, {}, attachKey), "IDEMPOTENCY_CONFLICT");
    expectRefused(await attach(1, { override: null }, attachKey), "IDEMPOTENCY_CONFLICT");
    expectRefused(await detach(2, attachKey), "IDEMPOTENCY_CONFLICT");
    expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1)));
    await expectReplays();
    expectOk(await owner.api.delete(`/v1/qr/${qr.short_id}`, ifMatch(1)));
    await expectReplays();
    const audited = (await auditOf(owner)).filter(
      (row) => row.resource === "qr_agent_binding" && row.resource_id === qr.short_id,
    );
    expect(audited.map((row) => row.procedure)).to.deep.equal(["bindings.attach", "bindings.detach"]);
  });

  it("keep nothing of a failure, so that its key can be sent again", async () => {
    const key = keyed(`later-${qr.short_id}`);
    expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { is_active: false }, ifMatch(1)));
    expectRefused(await attach(1, {}, key), "BINDING_TARGET_INACTIVE");
    expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { is_active: true }, ifMatch(2)));
    const answer = await attach(1, {}, key);
    expect(expectOk(answer).binding_version).to.equal(2);
    expect(answer.headers).not.to.have.property("idempotency-replayed");
  });
});
