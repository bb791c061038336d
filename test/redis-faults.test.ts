import { randomUUID } from "node:crypto";
import { copyFile, rm } from "node:fs/promises";
import { expect } from "chai";
import { install, type Installation, onServers, query, type RunningGateway, startGateway } from "./support/backends.js";
import { apiClient, expectError, expectOk, keyed, send } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { eventually, ownRedis, type OwnRedis, pause } from "./support/servers.js";

const redisState = async ({ url }: RunningGateway): Promise<string> =>
  (await send(url, { method: "GET", path: "/readyz" })).body.redis;

onServers("A Redis that breaks", () => {
  let redis: OwnRedis;
  let running: RunningGateway;
  let owner: TestOwner;
  before(async () => {
    redis = await ownRedis();
    running = await startGateway("mysql + redis", { REDIS_URL: redis.url });
  });
  after(async () => {
    redis.signal("SIGCONT");
    await running.stop();
    await redis.close();
  });
  beforeEach(async () => {
    owner = await newOwner(running);
    await eventually(async () => (await redisState(running)) === "ok", "Redis is used");
  });

  const create = (key: string) => owner.api.post("/v1/qr", { name: key }, keyed(key));

  /** Creates with `count` keys, twice each, and breaks Redis in between; nothing may fail or double. */
  async function survives(count: number, breakRedis: (n: number) => unknown): Promise<void> {
    const found = new Map<string, string>();
    for (let n = 0; n < count; n++) {
      const key = `k-${randomUUID()}`;
      const first = await create(key);
      await breakRedis(n);
      const again = await create(key);
      expect(expectOk(first), key).to.deep.equal(expectOk(again));
      expect(again.headers["idempotency-replayed"]).to.equal("true");
      found.set(key, first.body.short_id);
    }
    const list = expectOk(await owner.api.get("/v1/qr?limit=100"));
    expect(list.map((qr: { short_id: string }) => qr.short_id)).to.have.members([...found.values()]);
  }

  it("emptied between a request and its replay: nothing doubles", () => survives(20, () => redis.observer.flushall()));

  it("killed and restarted empty in between: nothing doubles, and it is used again", async () => {
    await survives(6, async (n) => (n % 2 === 0 ? redis.kill() : redis.start()));
    await eventually(async () => (await redisState(running)) === "ok", "Redis is used again");
    await eventually(async () => {
      expectOk(await create(randomUUID()));
      return (await redis.observer.keys("qrv:*:idem:*")).length > 0;
    }, "results are in Redis");
  });

  it("stopped: requests stay fast, and what it does late harms nothing", async () => {
    redis.signal("SIGSTOP");
    const started = Date.now();
    const keys = Array.from({ length: 20 }, () => `s-${randomUUID()}`);
    for (const key of keys) expectOk(await create(key));
    const took = Date.now() - started;
    redis.signal("SIGCONT");
    // 150 ms where the breaker lets one through, a few ms each behind it.
    expect(took).to.be.below(2500);
    for (const key of keys) expect((await create(key)).headers["idempotency-replayed"], key).to.equal("true");
    expect(expectOk(await owner.api.get("/v1/qr?limit=100"))).to.have.length(keys.length);
  });

  it("a claim that arrived late is given back, so that a corrected request goes through at once", async () => {
    const [agent, qr] = [await newAgent(owner), await newQr(owner)];
    const attach = (id: number) =>
      owner.api.put(
        `/v1/qr/${qr.short_id}/agent`,
        { agent_id: id },
        { ...keyed(`late-${qr.short_id}`), "If-Match-Version": "1" },
      );
    await pause(350); // The breaker may still be open from the test before.
    redis.signal("SIGSTOP");
    expectError(await attach(999_999_999), 404, "RESOURCE_NOT_FOUND");
    redis.signal("SIGCONT");
    await pause(400);
    expectOk(await attach(agent.id));
  });

  it("a Redis that was down from the start is used when it comes", async () => {
    await redis.kill();
    const late = await startGateway("mysql + redis", { REDIS_URL: redis.url });
    try {
      const { api } = await newOwner(late);
      expectOk(await api.post("/v1/qr", {}, keyed("k")));
      await redis.start();
      await eventually(async () => (await redisState(late)) === "ok", "Redis is used");
      expect((await api.post("/v1/qr", {}, keyed("k"))).headers["idempotency-replayed"]).to.equal("true");
    } finally {
      await late.stop();
    }
  });

  it("closes in time though Redis does not answer", async () => {
    const other = await startGateway("mysql + redis", { REDIS_URL: redis.url });
    const { api } = await newOwner(other);
    expectOk(await api.post("/v1/qr", {}, keyed("k")));
    redis.signal("SIGSTOP");
    expectOk(await api.post("/v1/qr", {}, keyed("l")));
    const started = Date.now();
    await other.stop();
    redis.signal("SIGCONT");
    expect(Date.now() - started).to.be.below(3000);
  });
});

onServers("One Redis under several databases", () => {
  it("never replays to one what another committed, though owner and key are the same", async () => {
    const [one, other] = [await startGateway("mysql + redis"), await startGateway("mysql + redis")];
    try {
      const owners = [await newOwner(one), await newOwner(other)];
      for (const { api } of owners) {
        const answer = await api.post("/v1/qr", {}, keyed("same"));
        expectOk(answer);
        expect(answer.headers["idempotency-replayed"]).to.equal(undefined);
      }
    } finally {
      await one.stop();
      await other.stop();
    }
  });

  describe("restored from an older copy", () => {
    let redis: OwnRedis;
    let installation: Installation;
    beforeEach(async () => {
      redis = await ownRedis();
      installation = await install("sqlite");
    });
    afterEach(async () => {
      await redis.close();
      await installation.drop();
    });

    const start = () => startGateway("sqlite", { REDIS_URL: redis.url }, installation);

    /** Puts the database back to where it was before `lose`, and starts anew. */
    async function restoredAfter(lose: (owner: TestOwner) => Promise<unknown>): Promise<[RunningGateway, TestOwner]> {
      const first = await start();
      const owner = await newOwner(first);
      await eventually(async () => (await redisState(first)) === "ok", "Redis is used");
      await query(first, "PRAGMA wal_checkpoint(TRUNCATE)");
      const path = (installation.env.DATABASE_URL as string).slice("sqlite:".length);
      await copyFile(path, `${path}.old`);
      await lose(owner);
      await eventually(async () => (await redis.observer.keys("qrv:*:idem:*")).length > 0, "the result is in Redis");
      await first.stop();
      for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
      await copyFile(`${path}.old`, path);
      const running = await start();
      await eventually(async () => (await redisState(running)) === "ok", "Redis is used");
      return [running, { ...owner, running, api: apiClient(running.url, owner.key) }];
    }

    it("never replays what it lost", async () => {
      let lost = "";
      const [running, { api }] = await restoredAfter(async (owner) => {
        lost = expectOk(await owner.api.post("/v1/qr", { name: "a" }, keyed("k"))).short_id;
      });
      try {
        const answer = await api.post("/v1/qr", { name: "a" }, keyed("k"));
        expect(expectOk(answer).short_id).not.to.equal(lost);
        expect(answer.headers["idempotency-replayed"]).to.equal(undefined);
        const again = await api.post("/v1/qr", { name: "a" }, keyed("k"));
        expect(again.text).to.equal(answer.text);
        expect(expectOk(await api.get("/v1/qr"))).to.have.length(1);
      } finally {
        await running.stop();
      }
    });

    it("takes a key that it lost for another request", async () => {
      const [running, { api }] = await restoredAfter((owner) => owner.api.post("/v1/qr", { name: "a" }, keyed("k")));
      try {
        expectOk(await api.post("/v1/qr", { name: "b" }, keyed("k")));
        expectError(await api.post("/v1/qr", { name: "a" }, keyed("k")), 409, "IDEMPOTENCY_CONFLICT");
      } finally {
        await running.stop();
      }
    });
  });
});
