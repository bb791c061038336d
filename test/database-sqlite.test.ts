import BetterSqlite3 from "better-sqlite3";
import { expect } from "chai";
import { query, type RunningGateway, startGateway } from "./support/backends.js";
import { expectError, expectOk, ifMatch, keyed, send } from "./support/http.js";
import { newOwner, newQr, type TestOwner } from "./support/owners.js";
import { pause } from "./support/servers.js";

describe("SQLite", () => {
  let running: RunningGateway;
  let owner: TestOwner;
  let other: BetterSqlite3.Database;
  before(async () => {
    running = await startGateway("sqlite");
    owner = await newOwner(running);
    const { database } = running.config;
    other = new BetterSqlite3(database.kind === "sqlite" ? database.path : "");
  });
  after(async () => {
    other.close();
    await running.stop();
  });

  it("lands each of 320 concurrent mutations, and shows none before it is committed", async () => {
    const creates = Array.from({ length: 320 }, (_, n) =>
      owner.api.post("/v1/qr", { name: `${n}` }, n % 2 ? keyed(`c${n}`) : {}),
    );
    const codes = (await Promise.all(creates)).map(expectOk);
    const patches = await Promise.all(
      codes.map(({ short_id }) => owner.api.patch(`/v1/qr/${short_id}`, { name: "p" }, ifMatch(1))),
    );
    patches.forEach(expectOk);
    const [row] = await query<{ n: number }>(
      running,
      "SELECT COUNT(*) AS n FROM qr_codes WHERE name = 'p' AND resource_version = 2",
    );
    expect(row?.n).to.equal(320);
    const [audited] = await query<{ n: number }>(running, "SELECT COUNT(*) AS n FROM audit_events");
    expect(audited?.n).to.equal(640);
  });

  it("lets concurrent transactions fail alone: one that rolls back takes none of the others along", async () => {
    const { database } = running.gateway.open;
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, n) =>
        database.transaction(
          async (sql) => {
            await sql.run("INSERT INTO settings (name, value) VALUES (?, ?)", [`t${n}`, "x"]);
            await pause(1);
            const seen = await database.read.all("SELECT name FROM settings WHERE name = ?", [`t${n}`]);
            if (n % 3 === 0) throw new Error("back");
            return seen.length;
          },
          { rerunAfterLostCommit: false },
        ),
      ),
    );
    expect(results.map((result) => result.status === "fulfilled" && result.value)).to.deep.equal(
      Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? false : 0)),
    );
    const kept = await database.read.all("SELECT name FROM settings WHERE name LIKE 't%'", []);
    expect(kept).to.have.length(40);
  });

  it("waits for another process's write lock without holding up reads, and says unavailable past the deadline", async function () {
    this.timeout(15_000);
    const qr = await newQr(owner);
    other.exec("BEGIN IMMEDIATE");
    const waiting = owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "w" }, ifMatch(1));
    const started = Date.now();
    expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`));
    expect((await send(running.url, { method: "GET", path: "/healthz" })).status).to.equal(200);
    expect(Date.now() - started).to.be.below(500);
    await pause(300);
    other.exec("COMMIT");
    expectOk(await waiting);

    other.exec("BEGIN IMMEDIATE");
    const late = Date.now();
    const calls = Array.from({ length: 5 }, (_, n) => owner.api.post("/v1/qr", {}, keyed(`locked${n}`)));
    for (const answer of await Promise.all(calls)) {
      expectError(answer, 500, "SERVICE_UNAVAILABLE", null);
      expect(answer.headers["retry-after"]).to.equal("1");
    }
    expect(Date.now() - late).to.be.within(4500, 6000);
    other.exec("ROLLBACK");
    expectOk(await owner.api.post("/v1/qr", {}, keyed("locked0")));
  });
});
