/**
 * The REST facade: Express routes made from the procedures' meta. trpc-to-openapi's own request handler is not used, for it
 * - sets `coerce` on the live schemas: `{"paywall_enabled":"no"}` would be stored as true, null as false,
 *   `?include_inactive=false` would be true, and tRPC callers would inherit it after the first REST call;
 * - leaves path parameters percent-encoded, and matches paths case-insensitively;
 * - puts a `message` and a `code` of its own into every error body, and answers 400 and 415.
 * test/rest-facade.test.ts holds one test for each.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Express } from "express";
import { z } from "zod";
import { Context, type Dependencies } from "./context.js";
import { type RequestIssue, toApiError, validationFailed } from "./errors.js";
import { HEADER_MEMBERS, requestIssues, retryAfterSeconds } from "./failure.js";
import { header, readJsonBody, RequestAborted, sendError, sendJson } from "./http.js";
import { isJsonObject, StrictJsonError } from "./json.js";
import { logFailure } from "./logging.js";
import type { Operation } from "./operation.js";
import type { Endpoint } from "./procedures.js";
import { readPath, readQuery, type TextKind, textKind } from "./request-text.js";

/** A request as the HTTP server hands it on. */
export type GatewayRequest = IncomingMessage & {
  requestId: string;
  /** Path parameters, percent-encoded as received. */
  params?: Record<string, string>;
  /** The query string, without `?`. */
  rawQuery: string;
};

interface Route {
  endpoint: Endpoint;
  operation: Operation;
  /** Kind of each path and query member, known at start. */
  path: ReadonlyMap<string, TextKind>;
  query: ReadonlyMap<string, TextKind>;
  /** Names that a body may not hold: they travel elsewhere. */
  reserved: ReadonlySet<string>;
  hasBody: boolean;
}

function describeRoute(endpoint: Endpoint): Route {
  const { operation, input } = endpoint;
  const names = Object.keys(input.shape);
  const kinds = (members: string[]) => new Map(members.map((name) => [name, textKind(input.shape[name] as z.ZodType)]));
  const reserved = new Set([...operation.pathParameters, ...Object.keys(HEADER_MEMBERS)]);
  const isRead = operation.method === "GET";
  return {
    endpoint,
    operation,
    path: kinds([...operation.pathParameters]),
    query: kinds(isRead ? names.filter((name) => !reserved.has(name)) : []),
    reserved,
    hasBody: ["POST", "PUT", "PATCH"].includes(operation.method),
  };
}

/** Reads the body into `input`; returns whether it could be read at all. */
async function readBody(route: Route, req: GatewayRequest, issues: RequestIssue[]): Promise<object | undefined> {
  let body: unknown;
  try {
    body = await readJsonBody(req);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    issues.push({ location: "body", path: "", message: error.message });
    return undefined;
  }
  if (!isJsonObject(body)) {
    issues.push({ location: "body", path: "", message: "The body must be a JSON object." });
    return undefined;
  }
  for (const name of Object.keys(body)) {
    if (!route.reserved.has(name)) continue;
    issues.push({ location: "body", path: name, message: "There is no such field." });
    // Else the schema would take it for the header or path member of that name, and report it there a second time.
    Reflect.deleteProperty(body, name);
  }
  return body;
}

const VERSION_PATTERN = /^[1-9][0-9]*$/;

/** Headers, path, query and body as the one typed input of the procedure. Throws VALIDATION_FAILED with every issue. */
async function assembleInput(route: Route, req: GatewayRequest, ctx: Context): Promise<Record<string, unknown>> {
  const { operation } = route;
  const issues: RequestIssue[] = [];
  const members: Record<string, unknown> = {};
  const path = readPath(route.path, req.params ?? {}, members, issues);
  readQuery(route.query, req.rawQuery, members, issues);

  const version = operation.versioned ? header(req, "if-match-version") : undefined;
  if (version !== undefined && !VERSION_PATTERN.test(version)) {
    issues.push({
      location: "header",
      path: "If-Match-Version",
      message: "Send one positive integer without leading zero.",
    });
  } else if (version !== undefined) {
    // What no column holds is just stale; the bound keeps it an exact integer.
    members.if_match_version = Math.min(Number(version), Number.MAX_SAFE_INTEGER);
  }
  const key = operation.idempotent ? header(req, "idempotency-key") : undefined;
  if (key !== undefined) members.idempotency_key = key;

  const body = route.hasBody ? await readBody(route, req, issues) : {};
  const input = { ...body, ...members };
  if (issues.length > 0) throw validationFailed(withSchemaIssues(route, input, issues, body === undefined));
  ctx.sent = { path, version, body };
  return input;
}

/** Adds what the schema finds, except where something was reported already. */
function withSchemaIssues(route: Route, input: object, issues: RequestIssue[], bodyUnread: boolean): RequestIssue[] {
  const parsed = route.endpoint.input.safeParse(input);
  const found = parsed.success ? [] : requestIssues(route.operation, parsed.error);
  const reported = new Set(issues.map((issue) => `${issue.location} ${issue.path}`));
  const isNew = (issue: RequestIssue) =>
    !reported.has(`${issue.location} ${issue.path}`) && !(bodyUnread && issue.location === "body");
  return [...issues, ...found.filter(isNew)];
}

async function handle(deps: Dependencies, route: Route, req: GatewayRequest, res: ServerResponse): Promise<void> {
  const { endpoint, operation } = route;
  const ctx = new Context(deps, req.requestId, header(req, "x-api-key"));
  ctx.versionSent = operation.versioned ? header(req, "if-match-version") !== undefined : undefined;
  let input: Promise<unknown> | undefined;
  try {
    const data = await endpoint.call(ctx, () => (input ??= assembleInput(route, req, ctx)));
    const replayed = ctx.replayed ? ["Idempotency-Replayed", "true"] : [];
    sendJson(res, req.requestId, 200, ctx.body ?? JSON.stringify(data), replayed);
  } catch (thrown) {
    if (thrown instanceof RequestAborted) return;
    const error = toApiError(thrown);
    logFailure(deps.log, error, req.requestId, endpoint.name);
    sendError(res, req.requestId, error, retryAfterSeconds(error, operation));
  }
}

const PARAMETER = /\{(\w+)\}/g;

/** Literal segments first, so that `/by-external-reference/agent` is a look-up and not a binding. */
function bySpecificity(a: Route, b: Route): number {
  const key = (route: Route) => route.operation.path.replace(PARAMETER, "~");
  return key(a) < key(b) ? -1 : 1;
}

/**
 * Mounts the `/v1` routes of every endpoint that has one. On the application itself: a router of its own costs a request about 2 µs,
 * and answers OPTIONS by itself, with 200.
 */
export function mountRest(app: Express, deps: Dependencies, endpoints: Iterable<Endpoint>): void {
  const routes = [...endpoints]
    .filter((endpoint) => endpoint.isPublic)
    .map(describeRoute)
    .sort(bySpecificity);
  for (const route of routes) {
    const method = route.operation.method.toLowerCase() as "get" | "post" | "put" | "patch" | "delete";
    app[method](route.operation.path.replace(PARAMETER, ":$1"), (req, res) =>
      handle(deps, route, req as unknown as GatewayRequest, res),
    );
  }
}
