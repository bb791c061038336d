import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectError, expectOk, send } from "./support/http.js";
import { blindCall, callRest, onEach, operations, pathOf, successOf, takesBody } from "./support/operations.js";
import { newOwner, type TestOwner } from "./support/owners.js";

const reads = operations.filter(({ operation }) => operation.method === "GET");

const UUIDV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const VALID_IDS = ["a", "AZaz09._:-".padEnd(128, "x")];
const INVALID_IDS = ["", "a".repeat(129), "a b", "a/b", "a,b", "clé", ["a", "a"], "%41"];

/** Headers that differ between two answers of one kind. */
const VARYING = new Set(["date", "x-request-id"]);

const comparable = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !VARYING.has(name)));

function expectCommonHeaders({ headers, text }: Answer): void {
  expect(headers["content-type"]).to.equal("application/json; charset=utf-8");
  expect(headers["cache-control"]).to.equal("no-store");
  expect(headers["content-length"]).to.equal(String(Buffer.byteLength(text)));
  expect(headers["x-content-type-options"]).to.equal("nosniff");
  expect(headers["strict-transport-security"]).to.match(/^max-age=\d+/);
  expect(headers["content-security-policy"]).to.be.a("string");
  expect(headers["x-frame-options"]).to.equal("SAMEORIGIN");
  expect(headers["referrer-policy"]).to.equal("no-referrer");
  expect(headers).to.not.have.any.keys(
    "x-powered-by",
    "etag",
    "last-modified",
    "allow",
    "idempotency-replayed",
    "vary",
  );
}

onEachBackend("HTTP of every operation", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });
  const unrouted = (method: string, path: string, headers: Record<string, string | string[]> = {}) =>
    send(owner.running.url, { method, path, headers: { "X-API-Key": owner.key, ...headers } });

  it("answers success and failure with the same headers, and no cache tags", async () => {
    await onEach(operations, async (endpoint) => {
      const success = await callRest(owner, endpoint, await successOf(owner, endpoint));
      expectOk(success);
      expectCommonHeaders(success);
      const failure = await callRest(owner, endpoint, blindCall(endpoint), { "X-API-Key": "" });
      expect(failure.status).to.equal(401);
      expectCommonHeaders(failure);
    });
  });

  it("echoes a well-formed X-Request-ID on success and failure", async () => {
    await onEach(operations, async (endpoint) => {
      for (const id of VALID_IDS) {
        const success = await callRest(owner, endpoint, await successOf(owner, endpoint), { "X-Request-ID": id });
        expectOk(success);
        expect(success.headers["x-request-id"]).to.equal(id);
        const failure = await callRest(owner, endpoint, blindCall(endpoint), { "X-Request-ID": id, "X-API-Key": "" });
        expectError(failure, 401, "API_KEY_INVALID");
        expect(failure.headers["x-request-id"]).to.equal(id);
      }
    });
  });

  it("replaces a malformed or missing X-Request-ID by a UUIDv7 and never refuses it", async () => {
    await onEach(operations, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      expectOk(await callRest(owner, endpoint, call, { "X-Request-ID": "a b" }));
      const seen = new Set<unknown>();
      for (const sent of [{}, ...INVALID_IDS.map((id) => ({ "X-Request-ID": id }))]) {
        const answer = await callRest(owner, endpoint, blindCall(endpoint), { ...sent, "X-API-Key": "" });
        expectError(answer, 401, "API_KEY_INVALID");
        expect(answer.headers["x-request-id"], JSON.stringify(sent)).to.match(UUIDV7);
        seen.add(answer.headers["x-request-id"]);
      }
      expect(seen.size).to.equal(INVALID_IDS.length + 1);
    });
  });

  it("carries the request id outside of the operations too", async () => {
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/trpc/capabilities.get", "/trpc/none", "/none", "/"]) {
      const given = await unrouted("GET", path, { "X-Request-ID": "mine" });
      expect(given.headers["x-request-id"], path).to.equal("mine");
      const made = await unrouted("GET", path, { "X-Request-ID": "not mine" });
      expect(made.headers["x-request-id"], path).to.match(UUIDV7);
    }
  });

  it("ignores conditional headers, ranges and Accept", async () => {
    const ignored = {
      "If-None-Match": "*",
      "If-Match": '"x"',
      "If-Modified-Since": "Fri, 31 Dec 2100 00:00:00 GMT",
      "If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT",
      "If-Range": '"x"',
      Range: "bytes=0-1",
      Accept: "text/html",
      "Accept-Encoding": "gzip",
    };
    await onEach(operations, async (endpoint) => {
      const answer = await callRest(owner, endpoint, await successOf(owner, endpoint), ignored);
      expectOk(answer);
      expectCommonHeaders(answer);
    });
  });

  it("answers HEAD as GET, without a body", async () => {
    await onEach(reads, async (endpoint) => {
      const success = await successOf(owner, endpoint);
      for (const [call, headers] of [
        [success, {}],
        [blindCall(endpoint), {}],
        [blindCall(endpoint), { "X-API-Key": "" }],
      ] as const) {
        const get = await callRest(owner, endpoint, call, headers);
        const head = await callRest(owner, endpoint, call, headers, { method: "HEAD" });
        expect(head.status).to.equal(get.status);
        expect(head.text).to.equal("");
        expect(comparable(head)).to.deep.equal(comparable(get));
      }
    });
  });

  it("knows no other method, OPTIONS included", async () => {
    const paths = new Map<string, Set<string>>();
    for (const endpoint of operations) {
      const path = pathOf(endpoint, blindCall(endpoint));
      const methods = paths.get(path) ?? new Set<string>();
      paths.set(path, methods.add(endpoint.operation.method));
      if (endpoint.operation.method === "GET") methods.add("HEAD");
    }
    for (const [path, offered] of paths) {
      const others = ["OPTIONS", "TRACE", "PROPFIND", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
      for (const method of others.filter((one) => !offered.has(one))) {
        const answer = await unrouted(method, path, { "If-Match-Version": "1" });
        expect(answer.status, `${method} ${path}`).to.equal(404);
        if (method !== "HEAD") expectError(answer, 404, "ROUTE_NOT_FOUND", null);
        expect(answer.headers).to.not.have.property("allow");
      }
    }
  });

  it("takes a path to the letter: case, trailing slash, double slash", async () => {
    await onEach(operations, async (endpoint) => {
      const path = pathOf(endpoint, await successOf(owner, endpoint));
      const [, , collection = ""] = path.split("/");
      const variants = [
        `${path}/`,
        `/${path}`,
        path.replace("/v1", "/V1"),
        path.replace(collection, collection.toUpperCase()),
        path.replace("/v1", "/%761"),
        path.replace("/v1/", "/v1//"),
        path.replace("/v1/", "/v1/./"),
        path.replace("/v1", ""),
      ].map((variant) => variant.replace(/\?.*?(?=\/?$)/, ""));
      const body = takesBody(endpoint) ? { body: "{}" } : {};
      for (const variant of variants) {
        const headers = { "X-API-Key": owner.key, "If-Match-Version": "1", "Content-Type": "application/json" };
        const sent = { method: endpoint.operation.method, path: variant, headers, ...body };
        const answer = await send(owner.running.url, sent);
        expect(answer.status, variant).to.equal(404);
        expectError(answer, 404, "ROUTE_NOT_FOUND", null);
      }
    });
  });

  it("answers what no operation has with 404 before it asks for a key", async () => {
    const operations = ["/v1", "/v1/", "/v1/nothing", "/v1/qr/a/b/c", "/v2/qr", "/v1/qr/a/agent/b"];
    for (const path of [...operations, "/", "/healthz/", "/HEALTHZ", "/openapi.json/", "/TRPC/qr.list", "/trpc/"]) {
      const answer = await send(owner.running.url, { method: "GET", path });
      expectError(answer, 404, "ROUTE_NOT_FOUND", null);
      expectCommonHeaders(answer);
    }
  });
});
