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
