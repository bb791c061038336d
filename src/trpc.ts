import { initTRPC } from "@trpc/server";
import { middlewareMarker } from "@trpc/server/unstable-core-do-not-import";
import type { OpenApiMethod } from "trpc-to-openapi";
import { z } from "zod";
import { writeAudit } from "./audit.js";
import type { Context } from "./context.js";
import { ApiError } from "./errors.js";
import { errorData, toFailure } from "./failure.js";
import { exactlyOnce } from "./idempotency/exactly-once.js";
import { fingerprintOf, type SentRequest } from "./idempotency/fingerprint.js";
import { type Clauses, describeOperation, errorStatuses, type Operation, type ProcedureMeta } from "./operation.js";

const t = initTRPC
  .context<Context>()
  .meta<ProcedureMeta>()
  .create({
    isDev: false,
    /** Only for type inference on the client; src/trpc-http.ts writes the very same shape. */
    errorFormatter: ({ shape, error, ctx }) => ({
      ...shape,
      data: {
        ...errorData(toFailure(error, ctx?.operation), ctx?.requestId ?? "", ctx?.operation),
        path: shape.data.path,
      },
    }),
  });

/** Groups procedures. */
export const { router } = t;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Key, scopes, and the presence of a version: in this order, before anything of the request is read. */
const guard = t.middleware(async ({ ctx, meta, getRawInput, next }) => {
  ctx.operation = (meta as ProcedureMeta).operation;
  const { scopes, versioned } = ctx.operation;
  ctx.caller = await ctx.deps.auth.authenticate(ctx.apiKey);
  const missing = scopes.filter((scope) => !ctx.caller.scopes.has(scope));
  if (missing.length > 0) {
    throw new ApiError("INSUFFICIENT_SCOPE", { details: { required_scopes: scopes, missing_scopes: missing } });
  }
  if (versioned && !(ctx.versionSent ?? hasVersion(await getRawInput())))
    throw new ApiError("RESOURCE_VERSION_REQUIRED");
  return next();
});

const hasVersion = (input: unknown) => isObject(input) && input.if_match_version !== undefined;

/** What a tRPC caller sent, in the terms of REST, so that both share one key space. */
function sentOverTrpc(operation: Operation, input: unknown): SentRequest {
  const { if_match_version: version, idempotency_key: _key, ...rest } = input as Record<string, unknown>;
  const path: Record<string, string> = {};
  for (const name of operation.pathParameters) {
    path[name] = String(rest[name]);
    delete rest[name];
  }
  return { path, version: version === undefined ? undefined : String(version), body: rest };
}

/** The effects of a mutation: one transaction around the work and its audit row, once for an idempotency key. */
const effects = t.middleware(async ({ ctx, meta, path, input, getRawInput, next }) => {
  const { operation } = meta as ProcedureMeta;

  /** `next()` reports a failure instead of throwing it; unless it is rethrown, the transaction would commit. */
  const work = async (sql: Context["sql"]) => {
    ctx.sql = sql;
    ctx.change = undefined;
    ctx.afterCommit = undefined;
    const result = await next();
    if (!result.ok)
      throw result.error.cause instanceof z.core.$ZodError ? result.error : (result.error.cause ?? result.error);
    if (operation.audited) await writeAudit(ctx, path);
    return result;
  };

  const key = operation.idempotent ? (input as { idempotency_key?: string }).idempotency_key : undefined;
  if (key === undefined) {
    const result = await ctx.deps.database.transaction(work, { rerunAfterLostCommit: false });
    ctx.afterCommit?.();
    return result;
  }

  const sent = ctx.sent ?? sentOverTrpc(operation, await getRawInput());
  const outcome = await exactlyOnce(
    ctx.deps,
    { ownerId: ctx.caller.ownerId, key, fingerprint: fingerprintOf(path, sent) },
    async (sql) => JSON.stringify((await work(sql)).data),
  );
  ctx.afterCommit?.();
  ctx.body = outcome.body;
  ctx.replayed = outcome.replayed;
  return { ok: true, marker: middlewareMarker, data: JSON.parse(outcome.body) as unknown, ctx };
});

/** A query of internal apps: tRPC alone offers it, with no `/v1` path, and outside the capability document. */
export function internalQuery(name: string, clauses: Pick<Clauses, "scopes" | "summary">) {
  const described = describeOperation("GET", `/trpc/${name}`, clauses);
  return t.procedure.meta({ operation: described }).use(guard);
}

/**
 * Starts an operation: its route and its clauses. Then `.input()`, one strict object of path, query, header and body
 * members; `.output()`, which runs inside the transaction of a mutation; and `.query()` or `.mutation()`.
 */
export function operation(method: OpenApiMethod, path: `/${string}`, clauses: Clauses) {
  const described = describeOperation(method, path, clauses);
  const base = t.procedure
    .meta({
      operation: described,
      openapi: {
        method,
        path,
        summary: clauses.summary,
        ...(clauses.description === undefined ? {} : { description: clauses.description }),
        errorResponses: errorStatuses(described),
      },
    })
    .use(guard);
  return {
    input: <Schema extends z.ZodObject>(schema: Schema) => {
      const parsed = base.input(schema);
      return method === "GET" ? parsed : (parsed.use(effects) as unknown as typeof parsed);
    },
  };
}
