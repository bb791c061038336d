import canonicalize from "canonicalize";
import { sha256 } from "../keys.js";

/** What a caller sent to an idempotent operation, before defaults and normalisation. */
export interface SentRequest {
  path: Record<string, string>;
  /** Decimal, as sent; undefined on operations without one. */
  version: string | undefined;
  body: unknown;
}

/** SHA-256 over operation, path, version and RFC 8785 body: equal for one request over REST and tRPC, and across deploys. */
export function fingerprintOf(operation: string, sent: SentRequest): Buffer {
  return sha256(canonicalize([operation, sent.path, sent.version ?? null, sent.body ?? {}]) as string);
}
