import { expect } from "chai";
import { type Connection, createConnection } from "mysql2/promise";
import { DatabaseUnavailable } from "../src/database/sql.js";
import { install, type Installation, onServers, type RunningGateway, startGateway } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch, keyed, send } from "./support/http.js";
import { newOwner, newQr, type TestOwner } from "./support/owners.js";
import { faultyProxy, type FaultyProxy, onText, pause } from "./support/servers.js";

function expectNothingDone(answer: Answer): void {
  expectError(answer, 500, "SERVICE_UNAVAILABLE", null);
  expect(answer.headers["retry-after"]).to.match(/^[1-9]\d*$/);
  expect(answer.body.error.message).to.contain("nothing was done");
}

onServers("A database that breaks", () => {
  let installation: Installation;
  let proxy: FaultyProxy;
  let running: RunningGateway;
  let owner: TestOwner;
  let direct: Connection;

  before(async () => {
    installation = await install("mysql + redis");
    const url = new URL(installation.env.DATABASE_URL as string);
    direct = await createConnection(url.href);
    proxy = await faultyProxy(url.hostname, Number(url.port || 3306));
    url.port = String(proxy.port);
    url.hostname = "127.0.0.1";
    running = await startGateway("mysql + redis", { DATABASE_URL: url.href }, installation);
    owner = await newOwner(running);
  });
  after(async () => {
    proxy.onRequest = () => "pass";
    await running.stop();
    await proxy.close();
    await direct.end();
    await installation.drop();
  });
  beforeEach(async () => {
    proxy.onRequest = () => "pass";
    await direct.query("DELETE FROM qr_codes");
    expectOk(await owner.api.get("/v1/qr"));
  });

  const codes = async () => ((await direct.query("SELECT short_id FROM qr_codes")) as unknown[][])[0] as unknown[];
  let made = 0;
  const create = (headers = {}) => owner.api.post("/v1/qr", { name: "x" }, headers);
  const newKey = () => keyed(`fault-${++made}`);

  for (const verdict of ["cut", "cut answer"] as const) {
    it(`does a keyed create once when COMMIT meets "${verdict}", one time and three times`, async () => {
      for (const times of [1, 3]) {
        await direct.query("DELETE FROM qr_codes");
        const headers = newKey();
        const seen = onText(proxy, "COMMIT", verdict, times);
        const first = await create(headers);
        expectOk(first);
        expect(seen()).to.be.at.least(1);
        expect(await codes()).to.have.length(1);
        expect((await create(headers)).text).to.equal(first.text);
      }
    });

    it(`says that the outcome is unknown when a keyless COMMIT meets "${verdict}", and never doubles`, async () => {
      onText(proxy, "COMMIT", verdict);
      const answer = await create();
      expectError(answer, 500, "SERVICE_UNAVAILABLE", null);
      expect(answer.headers["retry-after"]).to.equal(undefined);
      expect(answer.body.error.message).to.contain("unknown");
      expect((await codes()).length).to.equal(verdict === "cut" ? 0 : 1);
    });
  }

  it("reruns what was cut before COMMIT, with a key and without, wherever it was cut", async () => {
    for (let at = 0; at < 5; at++) {
      for (const headers of [{}, newKey()]) {
        await direct.query("DELETE FROM qr_codes");
        let sinceStart = -1;
        proxy.onRequest = (chunk) => {
          if (chunk.includes("COMMIT") || (sinceStart < 0 && !chunk.includes("START TRANSACTION"))) return "pass";
          return ++sinceStart === at ? "cut answer" : "pass";
        };
        expectOk(await create(headers));
        expect(sinceStart).to.be.at.least(0);
        expect(await codes()).to.have.length(1);
      }
    }
  });

  it("does not call a keyed COMMIT undone when it was never answered", async function () {
    this.timeout(15_000);
    const headers = newKey();
    onText(proxy, "COMMIT", "stall answer", 1);
    const answer = await create(headers);
    expectError(answer, 500, "SERVICE_UNAVAILABLE", null);
    expect(answer.body.error.message).to.contain("unknown").and.contain("same idempotency key");
    expect(answer.headers["retry-after"]).to.equal("1");
    expectOk(await create(headers));
    expect(await codes()).to.have.length(1);
  });

  it("answers within the deadline when the database stalls, and afterwards works again", async function () {
    this.timeout(20_000);
    const qr = await newQr(owner);
    const path = `/v1/qr/${qr.short_id}`;
    proxy.onRequest = () => "stall";
    const started = Date.now();
    const answers = await Promise.all([
      owner.api.get(path),
      create(),
      create(newKey()),
      owner.api.patch(path, {}, ifMatch(1)),
      ...Array.from({ length: 20 }, () => owner.api.get("/v1/qr")),
    ]);
    expect(Date.now() - started).to.be.below(6500);
    answers.forEach(expectNothingDone);
    proxy.onRequest = () => "pass";
    expectOk(await owner.api.get(path));
    expectOk(await create(newKey()));
  });

  it("answers within the deadline wherever in a change the database stalls", async function () {
    this.timeout(40_000);
    const agent = expectOk(await owner.api.post("/v1/agents", { name: "a" }));
    const change = async (name: string) => {
      const other = await newOwner(running);
      const [own, first, second, third] = await Promise.all([other, owner, owner, owner].map((each) => newQr(each)));
      return () => [
        other.api.patch(`/v1/qr/${own.short_id}`, { name }, ifMatch(1)),
        other.api.post("/v1/qr", { name, external_reference: name }, newKey()),
        owner.api.patch(`/v1/qr/${first.short_id}`, { name }, ifMatch(1)),
        owner.api.patch(`/v1/qr/${second.short_id}`, { name }, ifMatch(1)),
        owner.api.put(
          `/v1/qr/${third.short_id}/agent`,
          { agent_id: agent.id, override: { voice_name: name } },
          ifMatch(1),
        ),
      ];
    };
    // Everything from the first change on, then each change alone.
    for (const name of ["START TRANSACTION", "stalled"]) {
      const send = await change(name);
      let begun = false;
      proxy.onRequest = (chunk) => {
        begun ||= name === "START TRANSACTION" && chunk.includes(name);
        return begun || chunk.includes(name) ? "stall" : "pass";
      };
      const started = Date.now();
      const answers = await Promise.all(send());
      expect(Date.now() - started).to.be.below(6500);
      answers.forEach(expectNothingDone);
      proxy.onRequest = () => "pass";
      (await Promise.all(send())).forEach(expectOk);
    }
  });

  it("counts what a rerun reads towards the same deadline", async function () {
    this.timeout(20_000);
    const [qr, agent] = [await newQr(owner), expectOk(await owner.api.post("/v1/agents", { name: "a" }))];
    for (const table of ["qr_codes", "agents"]) {
      await direct.query("START TRANSACTION");
      await direct.query(`SELECT id FROM ${table} FOR UPDATE`);
      const started = Date.now();
      const path = `/v1/qr/${qr.short_id}`;
      const answers =
        table === "agents"
          ? [owner.api.patch(`/v1/agents/${agent.id}`, { name: "y" }, ifMatch(1))]
          : [
              owner.api.patch(path, { name: "y" }, ifMatch(1)),
              owner.api.put(`${path}/paywall`, { paywall_enabled: true }),
            ];
      await pause(1500);
      // The wait for the lock ends after 2 s; what the next try reads is never answered.
      proxy.onRequest = (chunk) => (chunk.includes("ROLLBACK") ? "pass" : "stall");
      (await Promise.all(answers)).forEach(expectNothingDone);
      expect(Date.now() - started).to.be.below(6000);
      proxy.onRequest = () => "pass";
      await direct.query("ROLLBACK");
    }
    expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, {}, ifMatch(1)));
  });

  it("does what was interrupted by an operator once more", async () => {
    const qr = await newQr(owner);
    await direct.query("START TRANSACTION");
    await direct.query("SELECT id FROM qr_codes FOR UPDATE");
    const answer = owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "y" }, ifMatch(1));
    const waiting = async () => {
      const [rows] = await direct.query(
        "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE '%UPDATE qr_codes%' AND id <> CONNECTION_ID()",
      );
      return (rows as { id: number }[])[0]?.id;
    };
    let id: number | undefined;
    while ((id = await waiting()) === undefined) await pause(10);
    await direct.query(`KILL QUERY ${id}`);
    await direct.query("ROLLBACK");
    expect(expectOk(await answer).resource_version).to.equal(2);
  });

  it("says so when the database is down, and goes on when it is back", async function () {
    this.timeout(20_000);
    await proxy.down();
    const started = Date.now();
    (await Promise.all(Array.from({ length: 40 }, (_, n) => create(n % 2 ? newKey() : {})))).forEach(expectNothingDone);
    expect(Date.now() - started).to.be.below(6000);
    expectNothingDone(await owner.api.get("/v1/qr"));
    const ready = await send(running.url, { method: "GET", path: "/readyz" });
    expect(ready.status, ready.text).to.equal(503);
    expect(ready.body.database).to.equal("unavailable");
    expect((await send(running.url, { method: "GET", path: "/healthz" })).status).to.equal(200);
    await proxy.up();
    (await Promise.all(Array.from({ length: 40 }, () => create(newKey())))).forEach(expectOk);
    expect((await send(running.url, { method: "GET", path: "/readyz" })).status).to.equal(200);
    expect(await codes()).to.have.length(40);
  });

  it("refuses at once what the pool's queue cannot take, and keeps the rest", async () => {
    const { database } = running.gateway.open;
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const calls = Array.from({ length: 2100 }, () =>
      database
        .transaction((sql) => sql.run("UPDATE settings SET value = value WHERE name = ''", []).then(() => held), {
          rerunAfterLostCommit: false,
        })
        .then(
          () => "done",
          (error: unknown) => (error instanceof DatabaseUnavailable && error.retrySafe ? "refused" : String(error)),
        ),
    );
    await pause(100);
    release();
    const results = await Promise.all(calls);
    expect(new Set(results)).to.deep.equal(new Set(["done", "refused"]));
    expect(results.filter((result) => result === "done")).to.have.length(2016);
  });
});
