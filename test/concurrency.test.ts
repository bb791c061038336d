import { expect } from "chai";
import { onEachBackend, query } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

const times = <T>(count: number, call: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => call(n)));

/** Exactly one went through; the rest were told of the version that it made. */
function expectOneWinner(answers: Answer[]): Answer {
  const [winner, ...others] = answers.filter(({ status }) => status === 200);
  expect(others).to.have.length(0);
  for (const answer of answers) {
    if (answer === winner) continue;
    expectError(answer, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 1, current_version: 2 });
  }
  return winner as Answer;
}

onEachBackend("Concurrent changes at one version", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  it("let exactly one of 20 PATCHes of a QR code or an agent through, with one audit row", async () => {
    for (const [path, id] of [
      [`/v1/qr/`, (await newQr(owner)).short_id],
      [`/v1/agents/`, (await newAgent(owner)).id],
    ]) {
      const winner = expectOneWinner(await times(20, (n) => owner.api.patch(path + id, { name: `${n}` }, ifMatch(1))));
      expect(expectOk(await owner.api.get(path + id))).to.deep.equal(winner.body);
      const text = "SELECT version_after FROM audit_events WHERE resource_id = ? AND version_before IS NOT NULL";
      expect(await query(owner.running, text, [String(id)])).to.deep.equal([{ version_after: 2 }]);
    }
  });

  it("hold up or undo none beside them, in whatever transaction they were", async () => {
    const codes = await times(12, () => newQr(owner));
    const taken = `taken-${codes[0].short_id}`;
    const quiet = await newAgent(owner);
    const speaking = await newAgent(owner);
    const patch = (qr: { short_id: string }, body: object) =>
      owner.api.patch(`/v1/qr/${qr.short_id}`, body, ifMatch(1));
    const agent = ({ id }: { id: number }, body: object) => owner.api.patch(`/v1/agents/${id}`, body, ifMatch(1));
    await patch(codes[0], { external_reference: taken });
    const [, ...others] = codes;
    const [raced] = others;
    const [second, refused, renamed, greeting, ...first] = await Promise.all([
      patch(raced, { name: "second" }),
      newQr(owner).then((qr) => patch(qr, { external_reference: taken })),
      agent(quiet, { name: "renamed" }),
      agent(speaking, { greeting_message: "Come in", greeting_enabled: true }),
      ...others.map((qr, n) => patch(qr, { name: `${n}` })),
    ]);
    expectOneWinner([second, first[0] as Answer]);
    expectError(refused, 409, "EXTERNAL_REFERENCE_CONFLICT", null);
    expect(expectOk(renamed).name).to.equal("renamed");
    expect(expectOk(greeting).greeting_message).to.equal("Come in");
    expect(first.slice(1).map((answer) => expectOk(answer).name)).to.deep.equal(
      others.slice(1).map((_, n) => `${n + 1}`),
    );
    for (const answer of first.slice(1)) {
      expect(expectOk(await owner.api.get(`/v1/qr/${answer.body.short_id}`))).to.deep.equal(answer.body);
    }
  });

  it("keep every character, whichever transaction they share", async () => {
    const texts = [
      "'",
      '"',
      "\\",
      "\\'",
      "';--",
      "?",
      "??",
      "%_",
      ":a",
      "\u001a\b\t\r\n",
      "日本語😀",
      "`",
      "/*",
      "${x}",
      "\\x00",
    ];
    const context = (text: string) => ({ property_context: { [text]: text } });
    const codes = await times(texts.length, (n) =>
      owner.api.post("/v1/qr", { name: texts[n], ...context(texts[n] as string) }),
    );
    const bodies = codes.map((answer) => expectOk(answer));
    expect(bodies.map(({ name }) => name)).to.deep.equal(texts);
    const turned = texts.toReversed();
    const changed = await times(texts.length, (n) => {
      const body = { description: turned[n], external_reference: turned[n], ...context(turned[n] as string) };
      return owner.api.patch(`/v1/qr/${bodies[n].short_id}`, body, ifMatch(1));
    });
    for (const [n, answer] of changed.entries()) {
      const stored = expectOk(await owner.api.get(`/v1/qr/${bodies[n].short_id}`));
      expect(stored).to.deep.equal(expectOk(answer));
      const expected = { name: texts[n], description: turned[n], external_reference: turned[n] };
      expect(stored).to.deep.include({ ...expected, ...context(turned[n] as string) });
    }
  });

  it("let exactly one of 20 attaches through", async () => {
    const qr = await newQr(owner);
    const agents = await times(4, () => newAgent(owner));
    const path = `/v1/qr/${qr.short_id}/agent`;
    const winner = expectOneWinner(
      await times(20, (n) => owner.api.put(path, { agent_id: agents[n % 4].id }, ifMatch(1))),
    );
    expect(expectOk(await owner.api.get(path))).to.deep.equal(winner.body);
  });

  it("never leave an agent bound that was deactivated meanwhile", async () => {
    for (let round = 0; round < 8; round++) {
      const [agent, ...codes] = [await newAgent(owner), ...(await times(4, () => newQr(owner)))];
      const attach = (n: number) =>
        owner.api.put(`/v1/qr/${codes[n].short_id}/agent`, { agent_id: agent.id }, ifMatch(1));
      const [deactivated, ...attached] = await Promise.all([
        owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1)),
        ...[0, 1, 2, 3].map(attach),
      ]);
      const first = attached.filter(({ status }) => status === 200).length;
      expect(expectOk(deactivated).detached_qr_count).to.equal(first);
      for (const answer of attached) if (answer.status !== 200) expectError(answer, 409, "BINDING_TARGET_INACTIVE");
      for (const { short_id } of codes) {
        expect(expectOk(await owner.api.get(`/v1/qr/${short_id}/agent`)).agent).to.equal(null);
      }
    }
  });
});
