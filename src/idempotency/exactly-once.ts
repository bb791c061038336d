import { v4 as uuidv4 } from "uuid";
import type { IdempotencyReceipt } from "../../entities/idempotency-receipt.js";
import { type Database, LockTimeout, type Sql } from "../database/sql.js";
import { ApiError } from "../errors.js";
import { sha256 } from "../keys.js";
import type { Claim, Claims } from "./claims.js";
import {
  completeReceipt,
  findReceipt,
  insertReceipt,
  insertReceiptLater,
  ReceiptExists,
  type ReceiptIdentity,
} from "./receipts.js";

/** The stored form of a result, and whether an earlier request made it. */
export interface Outcome {
  body: string;
  replayed: boolean;
}

interface KeyedRequest {
  ownerId: number;
  /** Whom its transaction may be shared with. */
  group: number | undefined;
  key: string;
  fingerprint: Buffer;
}

const inProgress = (retryAfterSeconds = 1) => new ApiError("IDEMPOTENCY_IN_PROGRESS", { retryAfterSeconds });

/** The result in a receipt, for a request with this fingerprint. Throws IDEMPOTENCY_CONFLICT when it is another request's. */
function outcomeOf(receipt: IdempotencyReceipt, identity: ReceiptIdentity): Outcome {
  if (!receipt.fingerprint.equals(identity.fingerprint)) throw new ApiError("IDEMPOTENCY_CONFLICT");
  return { body: receipt.body, replayed: !receipt.attempt.equals(identity.attempt) };
}

/** What a claim that is not ours to work under means; the receipt has the last word. */
async function resolveClaim(database: Database, claim: Claim, identity: ReceiptIdentity): Promise<Outcome | undefined> {
  if (claim.state === "new" || claim.state === "skip") return undefined;
  if (claim.state === "done") return { body: claim.body, replayed: true };
  const receipt = await findReceipt(database.read, identity.id);
  if (receipt) return outcomeOf(receipt, identity);
  if (claim.state === "busy") throw inProgress(claim.remainingSeconds);
  if (claim.state === "mismatch") throw new ApiError("IDEMPOTENCY_CONFLICT");
  return undefined;
}

/**
 * Runs `work` behind the fence: the receipt is inserted before its first statement. Work that only defers inserts has none;
 * its receipt joins them on the first try, and is inserted alone on a rerun, which tells a receipt that is there.
 */
async function behindFence(sql: Sql, identity: ReceiptIdentity, fence: Fence, work: (sql: Sql) => Promise<string>) {
  let inserting: Promise<void> | undefined;
  const take = () => {
    inserting ??= insertReceipt(sql, identity).then(() => {
      fence.taken = true;
    });
    return inserting;
  };
  if (fence.tries++ > 0) await take();
  const result = await work({
    all: async (...query) => take().then(() => sql.all(...query)),
    run: async (...statement) => take().then(() => sql.run(...statement)),
    swap: async (...statement) => take().then(() => sql.swap(...statement)),
    insertLater: (...row) => sql.insertLater(...row),
  });
  if (inserting === undefined) await insertReceiptLater(sql, identity, result);
  else await completeReceipt(sql, identity.id, result);
  return result;
}

interface Fence {
  tries: number;
  /** Whether the receipt was inserted in the transaction that runs. */
  taken: boolean;
}

/**
 * Runs `work` once for a key, whatever crashes: its receipt is inserted first and committed with its effects, so a second
 * request waits for the first, then replays or is refused. Throws IDEMPOTENCY_CONFLICT and IDEMPOTENCY_IN_PROGRESS.
 */
export async function exactlyOnce(
  { database, claims }: { database: Database; claims: Claims },
  request: KeyedRequest,
  work: (sql: Sql) => Promise<string>,
): Promise<Outcome> {
  const id = sha256(`${request.ownerId}\0${request.key}`);
  const identity = { id, fingerprint: request.fingerprint, attempt: uuidv4(undefined, Buffer.allocUnsafe(16)) };
  const known = await resolveClaim(database, await claims.take(identity), identity);
  if (known) return known;

  const fence: Fence = { tries: 0, taken: false };
  try {
    const body = await database.transaction(
      (sql) => {
        fence.taken = false;
        return behindFence(sql, identity, fence, work);
      },
      { group: request.group, rerunAfterLostCommit: true },
    );
    claims.complete(identity, body);
    return { body, replayed: false };
  } catch (error) {
    if (error instanceof ReceiptExists) return await committedOutcome(database, claims, identity);
    claims.release(identity);
    throw error instanceof LockTimeout && !fence.taken ? inProgress() : error;
  }
}

/** The receipt was there: another request's, or my own from a COMMIT whose answer was lost. */
async function committedOutcome(database: Database, claims: Claims, identity: ReceiptIdentity): Promise<Outcome> {
  try {
    const receipt = await findReceipt(database.read, identity.id);
    if (receipt === undefined) throw inProgress();
    const outcome = outcomeOf(receipt, identity);
    claims.complete(identity, outcome.body);
    return outcome;
  } catch (error) {
    claims.release(identity);
    throw error;
  }
}
