import { createServer, IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { v7 as uuidv7 } from "uuid";
import type { Dependencies } from "./context.js";
import { mountDocs } from "./docs.js";
import { ApiError, toApiError } from "./errors.js";
import { type Answering, COMMON_HEADERS, effectiveRequestId, sendError, sendJson } from "./http.js";
import { logFailure } from "./logging.js";
import type { Endpoint } from "./procedures.js";
import { type GatewayRequest, mountRest } from "./rest.js";
import { trpcHandler } from "./trpc-http.js";

/** How long a caller may take to send one whole request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;

/** How long a refused connection may still send, in milliseconds. */
const LINGER_MS = 1000;

/** What the HTTP surface needs besides the operations' own dependencies. */
export interface AppOptions {
  deps: Dependencies;
  endpoints: ReadonlyMap<string, Endpoint>;
  /** The OpenAPI document, as text. */
  openApi: string;
  /** Whether the database answers; Redis is only told of. */
  readiness: () => Promise<{ ready: boolean; redis: "ok" | "unavailable" | "not configured" }>;
}

function mountOperations(app: Express, { deps, endpoints, openApi, readiness }: AppOptions): void {
  const requestOf = (req: Request) => req as unknown as GatewayRequest;
  const callTrpc = trpcHandler(deps, endpoints);

  mountRest(app, deps, endpoints.values());
  app.all("/trpc/:path", (req, res) => callTrpc(requestOf(req), res, req.params.path));
  mountDocs(app);
  app.get("/openapi.json", (req, res) => sendJson(res, requestOf(req).requestId, 200, openApi));
  app.get("/healthz", (req, res) => sendJson(res, requestOf(req).requestId, 200, '{"status":"ok"}'));
  app.get("/readyz", async (req, res) => {
    const { ready, redis } = await readiness();
    const body = { status: ready ? "ready" : "unavailable", database: ready ? "ok" : "unavailable", redis };
    sendJson(res, requestOf(req).requestId, ready ? 200 : 503, JSON.stringify(body));
  });
}

/** The Express application: every path it does not know is 404 in the envelope. */
function createApp(options: AppOptions): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.set("query parser", false);
  app.set("trust proxy", options.deps.config.trustProxy);
  mountOperations(app, options);
  app.use((req: Request, res: Response) => {
    sendError(res, (req as unknown as GatewayRequest).requestId, new ApiError("ROUTE_NOT_FOUND"));
  });
  app.use((thrown: unknown, req: Request, res: Response, _next: NextFunction) => {
    const { requestId } = req as unknown as GatewayRequest;
    const error = toApiError(thrown);
    logFailure(options.deps.log, error, requestId, "unknown");
    if (res.headersSent) res.destroy();
    else sendError(res, requestId, error);
  });
  return app;
}

/**
 * Classes whose prototypes are Express's own from the start. Express sets them on every request otherwise, which deoptimises
 * what follows: measured 84-126 µs a request, 15-20 µs with these.
 */
function messageClasses(app: Express) {
  // Called as functions, which Node's two constructors are: through Reflect.construct they cost 6 % of a read.
  type Constructor = (this: object, ...values: unknown[]) => void;
  const asRequest = IncomingMessage as unknown as Constructor;
  const asResponse = ServerResponse as unknown as Constructor;
  function GatewayIncoming(this: object, socket: unknown) {
    asRequest.call(this, socket);
  }
  function GatewayResponse(this: object, req: unknown, options: unknown) {
    asResponse.call(this, req, options);
  }
  GatewayIncoming.prototype = app.request;
  GatewayResponse.prototype = app.response;
  return {
    IncomingMessage: GatewayIncoming as unknown as typeof IncomingMessage,
    ServerResponse: GatewayResponse as unknown as typeof ServerResponse,
  };
}

const MALFORMED_HTTP = {
  400: "The request is not valid HTTP.",
  431: "The request's headers are too large.",
} as const;

/** Connections that are refused or about to be: every further chunk on them is malformed again. */
const refused = new WeakSet<Duplex>();

/** Answers what the parser refuses, before there is a request, and closes the connection. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex & Answering): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  const answer = () => {
    const pending = socket._httpMessage;
    if (!socket.writable || error.code === "ECONNRESET") socket.destroy();
    // A whole request came before what is malformed: the connection's next answer is that one's.
    else if (pending?.req.complete) pending.once("finish", answer);
    else if (pending?.headersSent) socket.destroy();
    else writeMalformed(error, socket);
  };
  answer();
}

function writeMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
  const requestId = uuidv7();
  const envelope = {
    error: { code: "MALFORMED_HTTP", message: MALFORMED_HTTP[status], request_id: requestId, details: null },
  };
  writeRaw(socket, status, requestId, JSON.stringify(envelope));
}

function writeRaw(socket: Duplex, status: number, requestId: string, body: string): void {
  const reasons: Record<number, string> = {
    400: "Bad Request",
    404: "Not Found",
    431: "Request Header Fields Too Large",
  };
  const headers = [
    ...COMMON_HEADERS,
    ["Content-Type", "application/json; charset=utf-8"],
    ["X-Request-ID", requestId],
    ["Content-Length", String(Buffer.byteLength(body))],
    ["Connection", "close"],
  ];
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${reasons[status]}\r\n${head}\r\n${body}`);
  // Not at once: a reset would take the answer from a caller that is still sending.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * A request target as a path and query: without the scheme and authority of the absolute form (RFC 9112, 3.2.2), and without
 * a fragment, which none may have. Express leaves both to `url.parse`, and answers by itself where that throws.
 */
function originForm(target: string): string {
  if (target.startsWith("/") && !target.includes("#")) return target;
  const path = target.replace(SCHEME_AND_AUTHORITY, "").replace(/#.*/, "");
  return path.startsWith("/") ? path : `/${path}`;
}

/** The HTTP server of the gateway; not listening yet. */
export function createGatewayServer(options: AppOptions): Server {
  const app = createApp(options);

  const onRequest = (message: IncomingMessage, res: ServerResponse) => {
    const req = message as GatewayRequest;
    req.requestId = effectiveRequestId(req);
    const url = originForm(req.url as string);
    const start = url.indexOf("?");
    req.rawQuery = start === -1 ? "" : url.slice(start + 1);
    // Express decodes path parameters and answers 400 where it cannot; encoded twice, they reach the facade as they came.
    req.url = url.includes("%") ? url.replaceAll("%", "%25") : url;
    app(req as unknown as Request, res as unknown as Response);
  };

  const server = createServer(
    { ...messageClasses(app), requireHostHeader: false, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: 65_000 },
    onRequest,
  );
  // An expectation we do not know is ignored; Node would answer 417.
  server.on("checkExpectation", onRequest);
  server.on("clientError", refuseMalformed);
  server.on("connect", (req: IncomingMessage, socket: Duplex) => {
    const requestId = effectiveRequestId(req);
    const { message, code } = new ApiError("ROUTE_NOT_FOUND");
    writeRaw(
      socket,
      404,
      requestId,
      JSON.stringify({ error: { code, message, request_id: requestId, details: null } }),
    );
  });
  return server;
}
