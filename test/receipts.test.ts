import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { receiptAgeSeconds, reapReceipts } from "../src/idempotency/receipts.js";
import { onEachBackend, type RunningGateway, startGateway } from "./support/backends.js";
import { expectOk, keyed } from "./support/http.js";
import { newOwner } from "./support/owners.js";
import { INSERT_RECEIPT } from "./support/rows.js";

const HOUR = 3600;

describe("The age of a receipt", () => {
  it("is 72 h, or a day more than results are kept, whichever is longer", () => {
    expect(receiptAgeSeconds(1)).to.equal(72 * HOUR);
    expect(receiptAgeSeconds(24 * HOUR)).to.equal(72 * HOUR);
    expect(receiptAgeSeconds(48 * HOUR)).to.equal(72 * HOUR);
    expect(receiptAgeSeconds(48 * HOUR + 1)).to.equal(72 * HOUR + 1);
    expect(receiptAgeSeconds(31_536_000)).to.equal(31_536_000 + 24 * HOUR);
  });
});

onEachBackend("Old receipts", (backend) => {
  let running: RunningGateway;
  before(async () => {
    running = await startGateway(backend);
  });
  after(() => running.stop());

  /** Adds receipts that are `hours` old. */
  async function age(hours: number, count: number): Promise<void> {
    const at = new Date(Date.now() - hours * HOUR * 1000).toISOString().replace("T", " ").slice(0, 23);
    const { database } = running.gateway.open;
    await database.transaction(
      async (sql) => {
        for (let n = 0; n < count; n++) {
          await sql.run(INSERT_RECEIPT, [randomBytes(32), randomBytes(32), randomBytes(16), "{}", at]);
        }
      },
      { rerunAfterLostCommit: false },
    );
  }
  const count = async () => {
    const [row] = await running.gateway.open.database.read.all<{ n: number }>(
      "SELECT COUNT(*) AS n FROM idempotency_receipts",
      [],
    );
    return Number(row?.n);
  };

  it("are deleted in batches, and none that may still be needed", async () => {
    const { api } = await newOwner(running);
    const first = await api.post("/v1/qr", {}, keyed("young"));
    await age(71.99, 3);
    await age(72.01, 1201);
    const { database } = running.gateway.open;
    let transactions = 0;
    const watched: typeof database = {
      ...database,
      transaction(work, options) {
        transactions++;
        return database.transaction(work, options);
      },
    };
    expect(await reapReceipts(watched, 72 * HOUR)).to.equal(1201);
    expect(transactions).to.equal(3);
    expect(await count()).to.equal(4);
    expect(await reapReceipts(watched, 72 * HOUR)).to.equal(0);
    expect((await api.post("/v1/qr", {}, keyed("young"))).text).to.equal(first.text);
    expect(expectOk(await api.get("/v1/qr"))).to.have.length(1);
  });

  it("may be deleted by several processes at once", async () => {
    await age(100, 700);
    const { database } = running.gateway.open;
    await Promise.all([1, 2, 3].map(() => reapReceipts(database, 72 * HOUR)));
    expect(await count()).to.equal(4);
  });
});
