import { IncomingMessage, ServerResponse, type OutgoingHttpHeader } from "node:http";
import { parse as parseContentType } from "content-type";
import helmet from "helmet";
import { v7 as uuidv7 } from "uuid";
import type { ApiError } from "./errors.js";
import { presentError } from "./errors.js";
import { parseStrictJsonBytes, StrictJsonError } from "./json.js";

/** The largest body read, in bytes. */
const MAX_BODY_BYTES = 1024 * 1024;

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;
const JSON_TYPE = "application/json; charset=utf-8";

/** The caller's X-Request-ID where it is well-formed, else a new UUIDv7. */
export function effectiveRequestId(req: IncomingMessage): string {
  const sent = req.headers["x-request-id"];
  return typeof sent === "string" && REQUEST_ID_PATTERN.test(sent) ? sent : uuidv7();
}

/** A header's value as received; several of one name are joined, so that none passes for a single one. */
export function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** helmet's headers, asked for once: they depend on nothing of a request. */
function securityHeaders(): [name: string, value: string][] {
  const found: [string, string][] = [];
  const response = {
    setHeader: (name: string, value: OutgoingHttpHeader) => found.push([name, String(value)]),
    removeHeader: () => undefined,
  };
  helmet()(new IncomingMessage(undefined as never), response as unknown as ServerResponse, () => undefined);
  return found;
}

/** Headers of every response, whatever its path. */
export const COMMON_HEADERS: readonly [name: string, value: string][] = [
  ...securityHeaders(),
  ["Cache-Control", "no-store"],
];

const FIXED_HEADERS = [...COMMON_HEADERS.flat(), "Content-Type", JSON_TYPE];

/** What Node notes on a connection: the answer it is to send next. Undocumented. */
export interface Answering {
  _httpMessage?: ServerResponse | null;
}

/** JSON text, or its bytes in UTF-8. */
export type Json = string | Buffer;

function sendHead(res: ServerResponse, requestId: string, status: number, length: number, headers: readonly string[]) {
  const own = ["X-Request-ID", requestId, "Content-Length", String(length)];
  res.writeHead(status, [...FIXED_HEADERS, ...own, ...headers]);
}

/** Answers with JSON. One write, no Express helpers: those would add ETag and 304. */
export function sendJson(
  res: ServerResponse,
  requestId: string,
  status: number,
  body: Json,
  headers: readonly string[] = [],
): void {
  sendHead(res, requestId, status, Buffer.byteLength(body), headers);
  res.end(body);
}

/** Answers with a JSON array of at least one item: texts in one piece, and where there are bytes, in one write all the same. */
export function sendJsonArray(
  res: ServerResponse,
  requestId: string,
  status: number,
  items: readonly Json[],
  headers: readonly string[] = [],
): void {
  if (items.every((item) => typeof item === "string")) {
    return sendJson(res, requestId, status, `[${items.join(",")}]`, headers);
  }
  const length = items.reduce((sum, item) => sum + Buffer.byteLength(item), items.length + 1);
  sendHead(res, requestId, status, length, headers);
  res.cork();
  for (const [index, item] of items.entries()) {
    res.write(index === 0 ? "[" : ",");
    res.write(item);
  }
  res.end("]");
  res.uncork();
}

/** The headers an error answer carries besides the common ones. */
export function errorHeaders(error: ApiError, retryAfter: number | undefined): string[] {
  const headers: string[] = [];
  if (error.status === 401) headers.push("WWW-Authenticate", "ApiKey");
  if (retryAfter !== undefined) headers.push("Retry-After", String(retryAfter));
  return headers;
}

/** Answers with PublicErrorEnvelope. */
export function sendError(res: ServerResponse, requestId: string, error: ApiError, retryAfter?: number): void {
  const body = JSON.stringify({ error: presentError(error, requestId) });
  sendJson(res, requestId, error.status, body, errorHeaders(error, retryAfter ?? error.retryAfterSeconds));
}

/** The caller went away before the whole body had come; nobody is there to answer. */
export class RequestAborted extends Error {}

function readBytes(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    // Refused as soon as it is known. What comes after is still read, and dropped: a caller that is cut off while sending
    // never sees the answer.
    const refuse = () => reject(new StrictJsonError("The body is larger than 1 MiB."));
    if (Number(req.headers["content-length"]) > MAX_BODY_BYTES) refuse();
    req.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) refuse();
      else chunks.push(chunk);
    });
    // An abort is first an error, then a close; neither is a fault of ours to log.
    const abort = () => reject(new RequestAborted("The request was aborted."));
    req.on("end", () => {
      req.off("close", abort);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    req.on("error", abort);
    req.on("close", abort);
  });
}

function checkContentType(req: IncomingMessage): void {
  if (req.headers["content-encoding"] !== undefined) {
    throw new StrictJsonError("Send the body without Content-Encoding.");
  }
  const sent = req.headers["content-type"];
  if (sent === "application/json") return;
  const { type, parameters } = parseContentType(sent ?? "");
  const charset = parameters.charset?.toLowerCase();
  if (type !== "application/json" || (charset !== undefined && charset !== "utf-8")) {
    throw new StrictJsonError("Send the body as Content-Type: application/json, in UTF-8.");
  }
}

/** The JSON value of a request's body. Throws StrictJsonError, RequestAborted. */
export async function readJsonBody(req: IncomingMessage): Promise<unknown> {
  checkContentType(req);
  return parseStrictJsonBytes(await readBytes(req));
}
