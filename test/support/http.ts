import { Agent, request } from "node:http";
import { expect } from "chai";

const agent = new Agent({ keepAlive: true });

/** An answer, as received. */
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The body as JSON; undefined without one. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a body is whatever was answered
  body: any;
}

/** What is sent, to the letter. */
export interface Sent {
  method: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer | undefined;
}

/** Sends one request as it stands: no encoding, no default header but the ones Node must set. */
export function send(base: string, sent: Sent): Promise<Answer> {
  const { hostname, port } = new URL(base);
  // Node frames no body on GET and DELETE by itself.
  const framing = sent.body === undefined ? {} : { "Content-Length": Buffer.byteLength(sent.body) };
  const headers = { ...framing, ...sent.headers };
  return new Promise((resolve, reject) => {
    const req = request({ hostname, port, agent, method: sent.method, path: sent.path, headers }, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = text !== "" && String(res.headers["content-type"]).startsWith("application/json");
        const body: unknown = isJson ? JSON.parse(text) : undefined;
        resolve({ status: res.statusCode as number, headers: res.headers, text, body });
      });
    });
    req.on("error", reject);
    req.end(sent.body);
  });
}

type Headers = Record<string, string>;

/** REST calls of one key. Bodies are JSON; a string body goes as it is. */
export function apiClient(base: string, key: string) {
  const call = (method: string, path: string, body?: unknown, headers: Headers = {}) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const type: Headers = text === undefined ? {} : { "Content-Type": "application/json" };
    return send(base, { method, path, headers: { "X-API-Key": key, ...type, ...headers }, body: text });
  };
  return {
    call,
    get: (path: string, headers?: Headers) => call("GET", path, undefined, headers),
    delete: (path: string, headers?: Headers) => call("DELETE", path, undefined, headers),
    post: (path: string, body: unknown, headers?: Headers) => call("POST", path, body, headers),
    put: (path: string, body: unknown, headers?: Headers) => call("PUT", path, body, headers),
    patch: (path: string, body: unknown, headers?: Headers) => call("PATCH", path, body, headers),
  };
}

export type Api = ReturnType<typeof apiClient>;

/** The header of a versioned mutation. */
export const ifMatch = (version: number | string): Headers => ({ "If-Match-Version": String(version) });

/** The header of a keyed request. */
export const keyed = (key: string): Headers => ({ "Idempotency-Key": key });

/** Asserts a success and returns its body. */
export function expectOk(answer: Answer) {
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

/** Asserts PublicErrorEnvelope with this status, code and details, and nothing else in it. */
export function expectError(answer: Answer, status: number, code: string, details?: unknown): void {
  expect(answer.status, answer.text).to.equal(status);
  expect(Object.keys(answer.body)).to.deep.equal(["error"]);
  const { error } = answer.body;
  expect(Object.keys(error)).to.have.members(["code", "message", "request_id", "details"]);
  expect(error.code, answer.text).to.equal(code);
  expect(error.message).to.be.a("string").and.not.equal("");
  expect(error.request_id).to.equal(answer.headers["x-request-id"]);
  if (details !== undefined) expect(error.details).to.deep.equal(details);
}

/** Asserts a 422 and returns its issues. */
export function expectIssues(answer: Answer): { location: string; path: string; message: string }[] {
  expectError(answer, 422, "VALIDATION_FAILED");
  return answer.body.error.details.issues;
}

/** Asserts a 422 and returns the place of each issue. */
export function placesOf(answer: Answer): [location: string, path: string][] {
  return expectIssues(answer).map(({ location, path }) => [location, path]);
}
