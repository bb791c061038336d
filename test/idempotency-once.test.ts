import { expect } from "chai";
import { Redis as IoRedis } from "ioredis";
import { sha256 } from "../src/keys.js";
import {
  connectSql,
  onEachBackend,
  onServers,
  query,
  type RunningGateway,
  sharedGateway,
  startGateway,
} from "./support/backends.js";
import { type Answer, expectError, expectOk, keyed, send } from "./support/http.js";
import { newOwner, type TestOwner } from "./support/owners.js";
import { INSERT_RECEIPT, ownerId } from "./support/rows.js";
import { eventually, ownRedis, pause } from "./support/servers.js";

/** Rows that requests of one owner left. */
async function effectsOf(owner: TestOwner): Promise<{ codes: number; audits: number; receipts: number }> {
  const [{ id }] = (await query<{ id: number }>(owner.running, "SELECT id FROM owners WHERE name = ?", [
    owner.name,
  ])) as [{ id: number }];
  const count = async (table: string, where = "owner_id = ?") => {
    const [row] = await query<{ n: number | string }>(
      owner.running,
      `SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`,
      where === "1 = 1" ? [] : [id],
    );
    return Number(row?.n);
  };
  return {
    codes: await count("qr_codes"),
    audits: await count("audit_events"),
    receipts: await count("idempotency_receipts", "1 = 1"),
  };
}

const receiptId = (ownerId: number, key: string) => sha256(`${ownerId}\0${key}`);

/** Sends one keyed create again and again, as a client does that was told to wait. */
async function createUntilDone(owner: TestOwner, key: string): Promise<Answer> {
  for (;;) {
    const answer = await owner.api.post("/v1/qr", { name: "one" }, keyed(key));
    if (answer.status !== 409) return answer;
    expectError(answer, 409, "IDEMPOTENCY_IN_PROGRESS");
    expect(Number(answer.headers["retry-after"])).to.be.at.least(1);
    await pause(30);
  }
}

async function createConcurrently(owner: TestOwner, key: string, meanwhile?: () => Promise<unknown>): Promise<void> {
  const sent = Promise.all(Array.from({ length: 25 }, () => createUntilDone(owner, key)));
  const [answers] = await Promise.all([sent, meanwhile?.()]);
  const texts = new Set(answers.map((answer) => (expectOk(answer), answer.text)));
  expect(texts.size).to.equal(1);
  expect(answers.filter((answer) => answer.headers["idempotency-replayed"] === undefined)).to.have.length(1);
}

onEachBackend("Effects of keyed requests", (backend) => {
  it("makes one QR code, one audit row and one receipt of 25 concurrent identical creates", async () => {
    const running = await startGateway(backend);
    try {
      const owner = await newOwner(running);
      await createConcurrently(owner, "one");
      expect(await effectsOf(owner)).to.deep.equal({ codes: 1, audits: 1, receipts: 1 });
    } finally {
      await running.stop();
    }
  });

  it("leaves no row of a keyed request that failed", async () => {
    const running = await startGateway(backend);
    try {
      const owner = await newOwner(running);
      const answer = await owner.api.put(
        "/v1/qr/2222222222/agent",
        { agent_id: 1 },
        { ...keyed("k"), "If-Match-Version": "1" },
      );
      expectError(answer, 404, "RESOURCE_NOT_FOUND");
      expect(await effectsOf(owner)).to.deep.equal({ codes: 0, audits: 0, receipts: 0 });
    } finally {
      await running.stop();
    }
  });
});

onServers("Effects of keyed requests without Redis", () => {
  it("makes one QR code of 25 concurrent creates when Redis dies in their midst", async () => {
    const redis = await ownRedis();
    const running = await startGateway("mysql + redis", { REDIS_URL: redis.url });
    try {
      const owner = await newOwner(running);
      for (let round = 0; round < 3; round++) {
        await createConcurrently(owner, `round ${round}`.replace(" ", "-"), async () => {
          await pause(5 * round);
          await redis.kill();
        });
        await redis.start();
      }
      expect(await effectsOf(owner)).to.deep.equal({ codes: 3, audits: 3, receipts: 3 });
    } finally {
      await running.stop();
      await redis.close();
    }
  });
});

onServers("What Redis holds of a keyed request", () => {
  let owner: TestOwner;
  let running: RunningGateway;
  let observer: IoRedis;
  before(async () => {
    running = await sharedGateway("mysql + redis");
    owner = await newOwner(running);
    observer = new IoRedis(running.config.redisUrl as string);
    await eventually(async () => {
      const ready = await send(running.url, { method: "GET", path: "/readyz" });
      return ready.body.redis === "ok";
    }, "Redis is used");
  });
  after(() => observer.disconnect());

  async function entryName(key: string): Promise<string> {
    const [row] = await query<{ value: string }>(running, "SELECT value FROM settings WHERE name = 'installation_id'");
    return `qrv:${row?.value}:idem:${receiptId(await ownerId(owner), key).toString("hex")}`;
  }

  it("a claim while it runs, for as long as the lease; then the result, for as long as the TTL", async () => {
    const name = await entryName("held");
    const other = await connectSql(running);
    try {
      // Another transaction holds the receipt's place, so that the request has to wait under its claim.
      await other.query("START TRANSACTION");
      const zero = [receiptId(await ownerId(owner), "held"), Buffer.alloc(32), Buffer.alloc(16), "", new Date()];
      await other.query(INSERT_RECEIPT, zero);
      const first = owner.api.post("/v1/qr", {}, keyed("held"));
      await eventually(() => observer.exists(name), "the claim");
      expect((await observer.get(name))?.slice(0, 1)).to.equal("P");
      expect(await observer.pttl(name)).to.be.within(3000, 5000);

      const second = await owner.api.post("/v1/qr", {}, keyed("held"));
      expectError(second, 409, "IDEMPOTENCY_IN_PROGRESS", null);
      const wait = Number(second.headers["retry-after"]);
      expect(wait).to.equal(Math.ceil((await observer.pttl(name)) / 1000));
      expectError(await owner.api.post("/v1/qr", { name: "x" }, keyed("held")), 409, "IDEMPOTENCY_CONFLICT");

      await other.query("ROLLBACK");
      const answer = await first;
      expectOk(answer);
      await eventually(async () => (await observer.get(name))?.startsWith("D"), "the result");
      expect((await observer.get(name))?.endsWith(answer.text)).to.equal(true);
      expect(await observer.ttl(name)).to.be.within(86_390, 86_400);
    } finally {
      await other.end();
    }
  });

  it("nothing after a failure, nor of a request without a key", async () => {
    const name = await entryName("failed");
    const headers = { ...keyed("failed"), "If-Match-Version": "1" };
    expectError(await owner.api.put("/v1/qr/2222222222/agent", { agent_id: 1 }, headers), 404, "RESOURCE_NOT_FOUND");
    await eventually(async () => (await observer.exists(name)) === 0, "the release");
  });

  it("says in progress, not unavailable, when another request keeps the receipt's place past the deadline", async () => {
    const other = await connectSql(running);
    try {
      await other.query("START TRANSACTION");
      const zero = [receiptId(await ownerId(owner), "kept"), Buffer.alloc(32), Buffer.alloc(16), "", new Date()];
      await other.query(INSERT_RECEIPT, zero);
      const started = Date.now();
      const answer = await owner.api.post("/v1/qr", {}, keyed("kept"));
      expectError(answer, 409, "IDEMPOTENCY_IN_PROGRESS", null);
      expect(answer.headers["retry-after"]).to.match(/^[1-9]$/);
      expect(Date.now() - started).to.be.below(5500);
    } finally {
      await other.end();
    }
  });
});
