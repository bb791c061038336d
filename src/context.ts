import type { Logger } from "pino";
import type { Authenticator, Caller } from "./auth.js";
import type { Config } from "./config.js";
import type { Database, Sql } from "./database/sql.js";
import type { Claims } from "./idempotency/claims.js";
import type { SentRequest } from "./idempotency/fingerprint.js";
import type { Operation } from "./operation.js";
import type { Lookups } from "./services/lookups.js";
import type { ContextSigner } from "./signing.js";

/** What the composition root makes once and every call uses. */
export interface Dependencies {
  config: Config;
  database: Database;
  lookups: Lookups;
  auth: Authenticator;
  claims: Claims;
  signer: ContextSigner;
  log: Logger;
  /** Called when marked greetings are committed. */
  wakeGreetings: () => void;
  /** Every operation by its tRPC name, for the capability document. */
  operations: ReadonlyMap<string, Operation>;
}

/** What a mutation did, for the audit log. */
export interface Change {
  resource: "qr" | "agents" | "qr_agent_binding";
  resourceId: string;
  versionBefore: number | null;
  versionAfter: number;
}

/** One call of one operation; not shared between the calls of a batch. */
export class Context {
  /** Set by the guard, before anything of the request is read. */
  caller!: Caller;
  /** Set by the guard. */
  operation: Operation | undefined;
  /** The transaction of a mutation; plain reads otherwise. */
  sql: Sql;
  /** What the mutation reports of itself. */
  change: Change | undefined;
  /** What the mutation wants done once it is committed. */
  afterCommit: (() => void) | undefined;
  /** The result as stored, where one is: sent byte for byte. */
  body: string | undefined;
  replayed = false;
  /** Whether the version header was sent; undefined over tRPC, where it is input. */
  versionSent: boolean | undefined;
  /** What was sent, for the fingerprint; undefined over tRPC, where it is taken from the raw input. */
  sent: SentRequest | undefined;

  constructor(
    readonly deps: Dependencies,
    readonly requestId: string,
    /** The X-API-Key header as received. */
    readonly apiKey: string | undefined,
  ) {
    this.sql = deps.database.read;
  }
}
