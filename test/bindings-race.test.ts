import { expect } from "chai";
import { onEachBackend, query } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { ownerId } from "./support/rows.js";

/** 2,000 by hand: `ROUNDS=2000 npx mocha --grep 'attach against deactivate'`. */
const ROUNDS = Number(process.env.ROUNDS ?? 50);
const MOVED = 12;

const BOUND_TO_INACTIVE = `SELECT qr.short_id FROM qr_codes qr JOIN agents agent ON agent.id = qr.agent_id
  WHERE qr.owner_id = ? AND agent.is_active = 0`;

onEachBackend("attach against deactivate", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  const attach = (qr: { short_id: string }, agent: { id: number }, version: number) =>
    owner.api.put(`/v1/qr/${qr.short_id}/agent`, { agent_id: agent.id }, ifMatch(version));
  const deactivate = (agent: { id: number }) => owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1));

  it(`never leaves an inactive agent bound, in ${ROUNDS} rounds`, async function () {
    this.timeout(20_000 + ROUNDS * 100);
    for (let round = 0; round < ROUNDS; round++) {
      const agent = await newAgent(owner);
      const codes = [await newQr(owner), await newQr(owner)];
      const [gone, ...attached] = await Promise.all([
        deactivate(agent),
        ...codes.map(async (qr) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
          return attach(qr, agent, 1);
        }),
      ]);
      const before = attached.filter((answer) => answer.status === 200).length;
      expect(expectOk(gone).detached_qr_count).to.equal(before);
      for (const answer of attached.filter(({ status }) => status !== 200))
        expectError(answer, 409, "BINDING_TARGET_INACTIVE");
    }
    expect(await query(owner.running, BOUND_TO_INACTIVE, [await ownerId(owner)])).to.deep.equal([]);
  });

  it("lets codes move to another agent while theirs is switched off, and shows no deadlock", async () => {
    const rounds = Math.ceil(ROUNDS / 10);
    for (let round = 0; round < rounds; round++) {
      const [old, next] = [await newAgent(owner), await newAgent(owner)];
      const codes = await Promise.all(Array.from({ length: MOVED }, () => newQr(owner)));
      for (const qr of codes) expectOk(await attach(qr, old, 1));
      const [gone, ...moved] = await Promise.all([deactivate(old), ...codes.map((qr) => attach(qr, next, 2))]);
      const won = moved.filter((answer) => answer.status === 200);
      expect(expectOk(gone).detached_qr_count).to.equal(MOVED - won.length);
      for (const lost of moved.filter(({ status }) => status !== 200))
        expectError(lost, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 2, current_version: 3 });
    }
  });

  it("lets one of two attaches at one version win", async () => {
    for (let round = 0; round < 10; round++) {
      const [qr, one, two] = [await newQr(owner), await newAgent(owner), await newAgent(owner)];
      const answers = await Promise.all([attach(qr, one, 1), attach(qr, two, 1)]);
      const [won, lost] = answers.toSorted((a, b) => a.status - b.status) as [Answer, Answer];
      expectOk(won);
      expectError(lost, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 1, current_version: 2 });
      expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}/agent`))).to.deep.equal(won.body);
    }
  });

  it("lets one of attach, detach and soft delete at a time through, and ends in a state one of them made", async () => {
    for (let round = 0; round < 10; round++) {
      const [qr, agent] = [await newQr(owner), await newAgent(owner)];
      const [attached, detached, deleted] = await Promise.all([
        attach(qr, agent, 1),
        owner.api.delete(`/v1/qr/${qr.short_id}/agent`, ifMatch(1)),
        owner.api.delete(`/v1/qr/${qr.short_id}`, ifMatch(1)),
      ]);
      expectOk(deleted);
      expect([attached, detached].filter((answer) => answer.status === 200).length).to.be.at.most(1);
      for (const answer of [attached, detached]) expect(answer.status, answer.text).to.be.oneOf([200, 404, 409]);
      const [row] = await query(owner.running, "SELECT agent_id, binding_marker FROM qr_codes WHERE short_id = ?", [
        qr.short_id,
      ]);
      expect({ ...(row as object) }).to.deep.equal({ agent_id: null, binding_marker: null });
    }
  });
});
