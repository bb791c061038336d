import type { OpenApiMeta, OpenApiMethod } from "trpc-to-openapi";
import type { ErrorStatus } from "./errors.js";
import type { Scope } from "./scopes.js";

/** What the capability document groups actions by. */
export type ResourceName = "qr" | "paywall" | "agents" | "qr_agent_binding";

/** The clauses of an operation; every surface reads them from here. */
export interface Clauses {
  /** What the capability document calls it; none for the document itself. */
  can?: readonly [resource: ResourceName, action: string];
  scopes?: readonly Scope[];
  /** Needs the version the caller last read: `If-Match-Version`, or `if_match_version`. */
  versioned?: boolean;
  /** Takes an idempotency key: `Idempotency-Key`, or `idempotency_key`. */
  idempotent?: boolean;
  /** Locks several rows: never shares a transaction with others, which it would hold up. */
  locking?: boolean;
  /** False for the mutation that leaves no audit row. */
  audited?: boolean;
  summary: string;
  /** Markdown for the OpenAPI document. */
  description?: string;
}

/** An operation as its procedure's meta carries it. */
export interface Operation {
  method: OpenApiMethod;
  path: `/${string}`;
  /** Names in `{braces}` of the path. */
  pathParameters: readonly string[];
  can: readonly [resource: ResourceName, action: string] | undefined;
  scopes: readonly Scope[];
  versioned: boolean;
  idempotent: boolean;
  audited: boolean;
  locking: boolean;
}

/** Meta of every procedure; `openapi` is absent on those that tRPC alone offers. */
export type ProcedureMeta = OpenApiMeta<{ operation: Operation }>;

/** The statuses an operation answers with besides 200, as the specification's endpoint table derives them. */
export function errorStatuses(operation: Operation): ErrorStatus[] {
  const all: [ErrorStatus, boolean][] = [
    [401, true],
    [403, operation.scopes.length > 0],
    [404, true],
    [409, operation.versioned || operation.idempotent],
    [422, true],
    [428, operation.versioned],
    [500, true],
  ];
  return all.filter(([, applies]) => applies).map(([status]) => status);
}

/** Completes the clauses written in a router. */
export function describeOperation(method: OpenApiMethod, path: `/${string}`, clauses: Clauses): Operation {
  return {
    method,
    path,
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string),
    can: clauses.can,
    scopes: clauses.scopes ?? [],
    versioned: clauses.versioned ?? false,
    idempotent: clauses.idempotent ?? false,
    locking: clauses.locking ?? false,
    audited: method !== "GET" && (clauses.audited ?? true),
  };
}
