import { IdempotencyReceipt } from "../../entities/idempotency-receipt.js";
import { toDatabaseTime } from "../../entities/column-types.js";
import { now } from "../clock.js";
import { type Database, type Sql, UniqueViolation } from "../database/sql.js";
import { tableOf } from "../database/table.js";

const receipts = tableOf(IdempotencyReceipt);
const FIND = `SELECT ${receipts.select} FROM ${receipts.name} WHERE id = ?`;
const COMPLETE = `UPDATE ${receipts.name} SET body = ? WHERE id = ?`;
const MIN_AGE_SECONDS = 72 * 3600;
const AGE_MARGIN_SECONDS = 24 * 3600;
const REAP_BATCH = 500;
const OLDEST = `SELECT id FROM ${receipts.name} WHERE created_at < ? ORDER BY created_at LIMIT ${REAP_BATCH}`;
const REAP = `DELETE FROM ${receipts.name} WHERE id IN (${"?, ".repeat(REAP_BATCH - 1)}?)`;

/** A receipt with this id is committed already. */
export class ReceiptExists extends Error {}

/** Which request a receipt belongs to. */
export interface ReceiptIdentity {
  /** SHA-256 of owner, NUL, key. */
  id: Buffer;
  fingerprint: Buffer;
  /** A random UUID's 16 bytes, one draw a request. */
  attempt: Buffer;
}

/** The committed receipt, or undefined. */
export async function findReceipt(sql: Sql, id: Buffer): Promise<IdempotencyReceipt | undefined> {
  const [row] = await sql.all(FIND, [id]);
  return row === undefined ? undefined : receipts.read(row);
}

const rowOf = (identity: ReceiptIdentity, body: string) => receipts.values({ ...identity, body, createdAt: now() });

const asReceiptExists = (error: unknown): never => {
  throw error instanceof UniqueViolation ? new ReceiptExists("The receipt is there already.", { cause: error }) : error;
};

/** Takes the fence: waits for another transaction that holds it, throws ReceiptExists where that one committed. */
export async function insertReceipt(sql: Sql, identity: ReceiptIdentity): Promise<void> {
  await sql.run(receipts.insert, rowOf(identity, "")).catch(asReceiptExists);
}

/** Takes the fence together with the deferred rows it fences; where the receipt is there, the work may be run again. */
export async function insertReceiptLater(sql: Sql, identity: ReceiptIdentity, body: string): Promise<void> {
  await sql.insertLater(receipts, rowOf(identity, body)).catch(asReceiptExists);
}

/** Stores the result in the receipt. */
export async function completeReceipt(sql: Sql, id: Buffer, body: string): Promise<void> {
  await sql.run(COMPLETE, [body, id]);
}

/** How long receipts are kept where Redis keeps results for `ttlSeconds`: always longer, for they have the last word. */
export function receiptAgeSeconds(ttlSeconds: number): number {
  return Math.max(MIN_AGE_SECONDS, ttlSeconds + AGE_MARGIN_SECONDS);
}

/** Deletes receipts older than `ageSeconds`, in batches that hold no lock for long. Returns how many. */
export async function reapReceipts(database: Database, ageSeconds: number): Promise<number> {
  const before = toDatabaseTime(new Date(Date.now() - ageSeconds * 1000).toISOString());
  for (let reaped = 0; ;) {
    const rows = await database.read.all<{ id: Buffer }>(OLDEST, [before]);
    if (rows.length > 0) {
      // A short batch repeats its last id: one text for any size, for servers hold a limited number of prepared ones.
      const ids = Array.from({ length: REAP_BATCH }, (_, index) => (rows[index] ?? rows.at(-1))?.id ?? null);
      await database.transaction((sql) => sql.run(REAP, ids), { rerunAfterLostCommit: true });
    }
    reaped += rows.length;
    if (rows.length < REAP_BATCH) return reaped;
  }
}
