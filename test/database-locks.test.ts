import { expect } from "chai";
import type { Connection } from "mysql2/promise";
import { connectSql, onServers, startGateway, type RunningGateway } from "./support/backends.js";
import { expectError, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { eventually, pause } from "./support/servers.js";

onServers("Locks of other transactions", () => {
  let running: RunningGateway;
  let owner: TestOwner;
  let direct: Connection;
  before(async () => {
    running = await startGateway("mysql + redis");
    owner = await newOwner(running);
    direct = await connectSql(running);
  });
  after(async () => {
    await direct.end();
    await running.stop();
  });

  it("waits out a lock and a deadlock, and says unavailable when a row stays locked", async function () {
    this.timeout(20_000);
    const qr = await newQr(owner);
    const patch = (version: number) => owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "y" }, ifMatch(version));
    await direct.query("START TRANSACTION");
    await direct.query("SELECT id FROM qr_codes FOR UPDATE");
    const waiting = patch(1);
    await pause(2100);
    await direct.query("COMMIT");
    expectOk(await waiting);

    await direct.query("START TRANSACTION");
    await direct.query("SELECT id FROM qr_codes FOR UPDATE");
    const started = Date.now();
    const answer = await patch(2);
    expectError(answer, 500, "SERVICE_UNAVAILABLE", null);
    expect(answer.headers["retry-after"]).to.equal("1");
    expect(Date.now() - started).to.be.below(6000);
    await direct.query("ROLLBACK");
    expectOk(await patch(2));
  });

  it("makes nobody else of the owner wait for a locked row, however many there are", async () => {
    const codes = await Promise.all(Array.from({ length: 40 }, () => newQr(owner)));
    const patch = (qr: { short_id: string }) => owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "y" }, ifMatch(1));
    await direct.query("START TRANSACTION");
    await direct.query("SELECT id FROM qr_codes WHERE short_id = ? FOR UPDATE", [codes[0].short_id]);
    const started = Date.now();
    const tookMs = codes.map((qr) => patch(qr).then((answer) => [expectOk(answer), Date.now() - started][1] as number));
    await pause(1000);
    await direct.query("ROLLBACK");
    const slow = (await Promise.all(tookMs)).filter((ms) => ms >= 1000);
    // At worst those that shared its transaction.
    expect(slow).to.have.length.within(1, 16);
  });

  it("reruns a deadlock", async () => {
    const [agent, qr] = [await newAgent(owner), await newQr(owner)];
    // Holds the QR code, then wants the agent; attaching goes the other way round, so one of the two is the victim.
    await direct.query("START TRANSACTION");
    await direct.query("SELECT id FROM qr_codes WHERE short_id = ? FOR UPDATE", [qr.short_id]);
    const attaching = owner.api.put(`/v1/qr/${qr.short_id}/agent`, { agent_id: agent.id }, ifMatch(1));
    await eventually(async () => {
      await pause(150); // The server looks anew only when nobody asked for 100 ms.
      const [rows] = await direct.query(
        "SELECT COUNT(*) AS n FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
      );
      return Number((rows as { n: number }[])[0]?.n) > 0;
    }, "the attach waits");
    await direct.query("UPDATE agents SET model = 'x' WHERE id = ?", [agent.id]).catch(() => undefined);
    await direct.query("COMMIT");
    expect(expectOk(await attaching).binding_version).to.equal(2);
  });
});
