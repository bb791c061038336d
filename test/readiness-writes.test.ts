import { expect } from "chai";
import type { Pool, PoolConnection } from "mysql2";
import { onEachBackend, query, type RunningGateway, startGateway } from "./support/backends.js";
import { expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr } from "./support/owners.js";

/** What the gateway's own SQLite connection has changed since it was opened. */
async function sqliteWrites(running: RunningGateway): Promise<Record<string, number>> {
  const [row] = await query<{ changes: number }>(running, "SELECT total_changes() AS changes");
  return { changes: row?.changes ?? Number.NaN };
}

const WRITES =
  /^(Com_(insert|update|delete|replace|begin|commit|rollback)(_(select|multi))?|Handler_(write|update|delete|savepoint))$/;
const POOL_SIZE = 16;

/** The server's write counters of every connection the gateway has, summed; nobody else's count. */
async function mysqlWrites({ gateway }: RunningGateway): Promise<Record<string, number>> {
  const { pool } = gateway.open.dataSource.driver as unknown as { pool: Pool };
  const held = await Promise.all(
    Array.from(
      { length: POOL_SIZE },
      () =>
        new Promise<PoolConnection>((resolve, reject) => {
          pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection)));
        }),
    ),
  );
  const sums: Record<string, number> = {};
  for (const connection of held) {
    const [rows] = await connection.promise().query("SHOW SESSION STATUS");
    for (const { Variable_name: name, Value: value } of rows as { Variable_name: string; Value: string }[])
      if (WRITES.test(name)) sums[name] = (sums[name] ?? 0) + Number(value);
    connection.release();
  }
  return sums;
}

onEachBackend("public voice readiness and the database's write counters", (backend) => {
  let running: RunningGateway;
  before(async () => {
    running = await startGateway(backend);
  });
  after(() => running.stop());

  it("leaves them still, ready or not, though any mutation moves them", async () => {
    const writes = () => (backend === "sqlite" ? sqliteWrites(running) : mysqlWrites(running));
    const owner = await newOwner(running);
    const agent = await newAgent(owner);
    const ready = await newQr(owner, { external_reference: "ready", property_context: { a: 1 } });
    await newQr(owner, { external_reference: "unavailable", is_active: false });
    expectOk(await owner.api.put(`/v1/qr/${ready.short_id}/agent`, { agent_id: agent.id }, ifMatch(1)));

    const before = await writes();
    for (let round = 0; round < 20; round++) {
      for (const [reference, status] of [
        ["ready", "ready"],
        ["unavailable", "unavailable"],
      ]) {
        const answer = await owner.api.get(`/v1/qr/by-external-reference/${reference}/public-voice-readiness`);
        expect(expectOk(answer)).to.include({ status, database_mutation_count: 0 });
      }
      await owner.api.get("/v1/qr/by-external-reference/none/public-voice-readiness");
    }
    const after = await writes();
    expect(after).to.deep.equal(before);

    expectOk(await owner.api.patch(`/v1/qr/${ready.short_id}`, {}, ifMatch(1)));
    const moved = await writes();
    expect(Object.keys(moved).filter((name) => moved[name] !== after[name])).to.include.members(
      backend === "sqlite" ? ["changes"] : ["Com_update", "Com_insert", "Handler_update", "Com_commit"],
    );
  });
});
