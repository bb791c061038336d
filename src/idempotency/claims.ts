import type { Redis } from "../redis.js";
import type { ReceiptIdentity } from "./receipts.js";

/** What Redis knows of a key. `skip`: nothing, it did not answer; the receipt decides. */
export type Claim =
  | { state: "new" | "skip" | "mismatch" | "unverified" }
  | { state: "done"; body: string }
  | { state: "busy"; remainingSeconds: number };

/** The fast path in front of the receipts: claims while a request runs, results after it. Never authoritative. */
export interface Claims {
  take(identity: ReceiptIdentity): Promise<Claim>;
  /** Best effort, not waited for. */
  complete(identity: ReceiptIdentity, body: string): void;
  /** Best effort, not waited for; leaves another's claim alone. */
  release(identity: ReceiptIdentity): void;
}

/** Without Redis every claim is skipped. */
export const noClaims: Claims = {
  take: async () => ({ state: "skip" }),
  complete: () => undefined,
  release: () => undefined,
};

interface ClaimOptions {
  /** Keys start with it, so that another database never replays what it did not commit. */
  installationId: string;
  ttlSeconds: number;
  leaseSeconds: number;
}

const DIGEST_LENGTH = 64;
const TIME_LENGTH = 13;
const CLOCK_SKEW_MS = 60_000;

/** Claims kept in Redis. */
export function redisClaims(redis: Redis, options: ClaimOptions): Claims {
  const startedAt = Date.now();
  const keyOf = (identity: ReceiptIdentity) => `qrv:${options.installationId}:idem:${identity.id.toString("hex")}`;

  function read(entry: string, remainingMs: number, fingerprint: string): Claim {
    const isMine = entry.slice(1, 1 + DIGEST_LENGTH) === fingerprint;
    // Another request's result counts only with its receipt, which a restored database may have lost.
    if (!isMine) return { state: entry.startsWith("P") ? "mismatch" : "unverified" };
    if (entry.startsWith("P")) return { state: "busy", remainingSeconds: Math.max(1, Math.ceil(remainingMs / 1000)) };
    const completedAt = Number(entry.slice(1 + DIGEST_LENGTH, 1 + DIGEST_LENGTH + TIME_LENGTH));
    // A result from before this process started may be of a time the database was since restored from.
    if (completedAt < startedAt + CLOCK_SKEW_MS) return { state: "unverified" };
    return { state: "done", body: entry.slice(1 + DIGEST_LENGTH + TIME_LENGTH) };
  }

  return {
    async take(identity) {
      const fingerprint = identity.fingerprint.toString("hex");
      const attempt = identity.attempt.toString("hex");
      const answer = await redis.attempt((client) =>
        client.claim(keyOf(identity), fingerprint, attempt, String(options.leaseSeconds * 1000)),
      );
      if (answer === undefined) return { state: "skip" };
      if (answer.reply === null) return { state: "new" };
      const [entry, remainingMs] = answer.reply as [string, number];
      return read(entry, remainingMs, fingerprint);
    },
    complete(identity, body) {
      const entry = `D${identity.fingerprint.toString("hex")}${Date.now()}${body}`;
      void redis.attempt((client) =>
        client.set(keyOf(identity), entry, { expiration: { type: "EX", value: options.ttlSeconds } }),
      );
    },
    release(identity) {
      // Past the breaker: a claim that was too late to be waited for may still arrive, and this must follow it.
      redis.tell((client) =>
        client.release(keyOf(identity), identity.fingerprint.toString("hex"), identity.attempt.toString("hex")),
      );
    },
  };
}
