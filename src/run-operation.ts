import type { z } from "zod";
import { writeAudit } from "./audit.js";
import type { Context } from "./context.js";
import type { Sql } from "./database/sql.js";
import { ApiError, validationFailed } from "./errors.js";
import { requestIssues } from "./failure.js";
import { exactlyOnce } from "./idempotency/exactly-once.js";
import { fingerprintOf, type SentRequest } from "./idempotency/fingerprint.js";
import type { Operation } from "./operation.js";

/** An operation as it is run. */
export interface Runnable {
  /** tRPC name, for example `qr.update`. */
  name: string;
  operation: Operation;
  input: z.ZodObject;
}

type Resolve = (input: unknown) => Promise<unknown>;

/** Whether a tRPC caller sent a version; REST callers send it in a header. */
function hasVersion(input: unknown): boolean {
  return (
    typeof input === "object" && input !== null && "if_match_version" in input && input.if_match_version !== undefined
  );
}

/** Key, scopes, and the presence of a version: in this order, before anything of the request is read. */
async function checkCaller(ctx: Context, operation: Operation, getRawInput: () => Promise<unknown>): Promise<void> {
  ctx.operation = operation;
  ctx.caller = await ctx.deps.auth.authenticate(ctx.apiKey);
  const { scopes } = operation;
  const missing = scopes.filter((scope) => !ctx.caller.scopes.has(scope));
  if (missing.length > 0) {
    throw new ApiError("INSUFFICIENT_SCOPE", { details: { required_scopes: scopes, missing_scopes: missing } });
  }
  if (operation.versioned && !(ctx.versionSent ?? hasVersion(await getRawInput()))) {
    throw new ApiError("RESOURCE_VERSION_REQUIRED");
  }
}

/** What a tRPC caller sent, in the terms of REST, so that both share one key space. */
function sentOverTrpc(operation: Operation, input: unknown): SentRequest {
  const { if_match_version: version, idempotency_key: _key, ...body } = input as Record<string, unknown>;
  const path: Record<string, string> = {};
  for (const name of operation.pathParameters) {
    path[name] = String(body[name]);
    delete body[name];
  }
  return { path, version: version === undefined ? undefined : String(version), body };
}

/** Runs a mutation in one transaction with its audit row, once for an idempotency key. */
async function runMutation(
  ctx: Context,
  { name, operation }: Runnable,
  input: Record<string, unknown>,
  raw: unknown,
  resolve: Resolve,
): Promise<unknown> {
  const work = async (sql: Sql) => {
    ctx.sql = sql;
    ctx.change = undefined;
    ctx.afterCommit = undefined;
    const result = await resolve(input);
    if (operation.audited) await writeAudit(ctx, name);
    return result;
  };
  const key = operation.idempotent ? (input.idempotency_key as string | undefined) : undefined;
  const group = operation.locking ? undefined : ctx.caller.ownerId;
  if (key === undefined) {
    const result = await ctx.deps.database.transaction(work, { group, rerunAfterLostCommit: false });
    ctx.afterCommit?.();
    return result;
  }

  const sent = ctx.sent ?? sentOverTrpc(operation, raw);
  const request = { ownerId: ctx.caller.ownerId, group, key, fingerprint: fingerprintOf(name, sent) };
  let made: { result: unknown; body: string } | undefined;
  const outcome = await exactlyOnce(ctx.deps, request, async (sql) => {
    const result = await work(sql);
    made = { result, body: JSON.stringify(result) };
    return made.body;
  });
  ctx.afterCommit?.();
  ctx.body = outcome.body;
  ctx.replayed = outcome.replayed;
  return outcome.body === made?.body ? made.result : (JSON.parse(outcome.body) as unknown);
}

/**
 * Runs one call of an operation in the contract's order: key, scopes, version present, form, then idempotency, work and
 * audit in one transaction. Throws ApiError, or whatever unforeseen `resolve` throws.
 */
export async function runOperation(
  ctx: Context,
  runnable: Runnable,
  getRawInput: () => Promise<unknown>,
  resolve: Resolve,
): Promise<unknown> {
  await checkCaller(ctx, runnable.operation, getRawInput);
  const raw = await getRawInput();
  const parsed = runnable.input.safeParse(raw);
  if (!parsed.success) throw validationFailed(requestIssues(runnable.operation, parsed.error));
  if (runnable.operation.method === "GET") return resolve(parsed.data);
  return runMutation(ctx, runnable, parsed.data, raw, resolve);
}
