import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectIssues, expectOk } from "./support/http.js";
import { type Call, callRest, onEach, operations, pathOf, successOf, takesBody } from "./support/operations.js";
import { newOwner, type TestOwner } from "./support/owners.js";

const writes = operations.filter(takesBody);
const bodiless = operations.filter((endpoint) => !takesBody(endpoint));

const MAX_BYTES = 1024 * 1024;
const JSON_TYPE = "application/json";

/** A body that is JSON of `depth` nested containers, the outermost the body itself. */
const nested = (depth: number) => `{"unknown":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

/** Bodies no operation reads, whatever its fields. */
const UNREADABLE: Record<string, string | Buffer> = {
  empty: "",
  blank: "  ",
  "not JSON": "name=x",
  "half a body": '{"name":',
  "two bodies": "{}{}",
  "a comment": "{} // x",
  "a trailing comma": '{"name":"x",}',
  "single quotes": "{'name':'x'}",
  NaN: '{"name":NaN}',
  array: "[]",
  null: "null",
  true: "true",
  number: "1",
  string: '"{}"',
  "a byte order mark": "\uFEFF{}",
  "a byte order mark of UTF-16": Buffer.from("\uFEFF{}", "utf16le"),
  "bad UTF-8": Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  "overlong UTF-8": Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  "a surrogate as UTF-8": Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  "depth 65": nested(65),
  "depth 100000": nested(100_000),
  "a number no double holds": '{"unknown":1e400}',
  "one below all": '{"unknown":[-1e400]}',
  "a lone surrogate": '{"unknown":"\\ud800"}',
  "a lone surrogate in a name": '{"\\udc00":1}',
  __proto__: '{"__proto__":{"is_active":false}}',
  "__proto__ within": '{"unknown":[{"a":{"__proto__":null}}]}',
  "__proto__ escaped": '{"\\u005f_proto__":1}',
  NUL: '{"unknown":"a\\u0000"}',
  "NUL in a name": '{"a\\u0000":1}',
};

const MISLABELLED: [what: string, headers: Record<string, string>][] = [
  ["no type", { "Content-Type": "" }],
  ["text", { "Content-Type": "text/plain" }],
  ["a form", { "Content-Type": "application/x-www-form-urlencoded" }],
  ["another JSON", { "Content-Type": "application/merge-patch+json" }],
  ["JSON among others", { "Content-Type": "text/plain; application/json" }],
  ["UTF-16", { "Content-Type": "application/json; charset=utf-16" }],
  ["Latin-1", { "Content-Type": "application/json;charset=iso-8859-1" }],
  ["identity", { "Content-Type": JSON_TYPE, "Content-Encoding": "identity" }],
];

/** Asserts that the body as a whole was refused, and nothing else. */
function expectBodyRefused(answer: Answer, what: string): void {
  expect(answer.status, what).to.equal(422);
  const issues = expectIssues(answer);
  expect(issues, what).to.have.length(1);
  expect(issues[0], what).to.include({ location: "body", path: "" });
}

onEachBackend("Bodies and fields of every operation", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  it("refuses what is not one JSON object in strict UTF-8", async () => {
    await onEach(writes, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const [what, body] of Object.entries(UNREADABLE)) {
        expectBodyRefused(await callRest(owner, endpoint, call, {}, { body }), what);
      }
      expectOk(await callRest(owner, endpoint, call));
    });
  });

  it("refuses another content type, charset or encoding", async () => {
    await onEach(writes, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const [what, headers] of MISLABELLED) {
        expectBodyRefused(await callRest(owner, endpoint, call, headers), what);
      }
      const gzip = { "Content-Encoding": "gzip" };
      const body = gzipSync(JSON.stringify(call.body));
      expectBodyRefused(await callRest(owner, endpoint, call, gzip, { body }), "gzip");
      expectOk(await callRest(owner, endpoint, call, { "Content-Type": 'Application/JSON; Charset="UTF-8"' }));
    });
  });

  it("takes a body of 1 MiB and not a byte more", async () => {
    await onEach(writes, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      const body = JSON.stringify(call.body).padEnd(MAX_BYTES);
      expectBodyRefused(await callRest(owner, endpoint, call, {}, { body: `${body} ` }), "1 MiB and a byte");
      expectOk(await callRest(owner, endpoint, call, {}, { body }));
    });
  });

  it("takes depth 64 and the last of two fields of one name", async () => {
    await onEach(writes, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      const deep = await callRest(owner, endpoint, call, {}, { body: nested(64) });
      expect(expectIssues(deep).map(({ path }) => path)).to.include("unknown");
      const [[name, value] = []] = Object.entries(call.body!);
      const twice = JSON.stringify(call.body).replace("{", `{"${name}":["wrong"],`);
      expect(twice).to.include(JSON.stringify(value));
      expectOk(await callRest(owner, endpoint, call, {}, { body: twice }));
    });
  });

  it("names every unknown field of a body", async () => {
    await onEach(writes, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      const unknown = ["unknown", "toString", "constructor", "Name", "", "a.b"];
      const body = { ...call.body, ...Object.fromEntries(unknown.map((name) => [name, 1])) };
      const issues = expectIssues(await callRest(owner, endpoint, { ...call, body }));
      expect(issues.map(({ location, path }) => [location, path])).to.have.deep.members(
        unknown.map((name) => ["body", name]),
      );
    });
  });

  it("names every unknown query parameter, on mutations too", async () => {
    await onEach(operations, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      const query = { ...call.query, unknown: "1", toString: "1", Limit: "1" };
      const issues = expectIssues(await callRest(owner, endpoint, { ...call, query }));
      expect(issues.map(({ location, path }) => [location, path])).to.deep.equal(
        ["unknown", "toString", "Limit"].map((name) => ["query", name]),
      );
    });
  });

  const reservedOf = (call: Call) => ["if_match_version", "idempotency_key", ...Object.keys(call.path ?? {})];

  it("takes what travels in path and headers for unknown in a body", async () => {
    await onEach(writes, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const name of reservedOf(call)) {
        for (const value of [1, "k", null, call.path?.[name] ?? ["x"]]) {
          const body = { ...call.body, [name]: value };
          const issues = expectIssues(await callRest(owner, endpoint, { ...call, body }));
          expect(issues.map(({ location, path }) => [location, path])).to.deep.equal([["body", name]]);
        }
      }
    });
  });

  it("takes what travels in path and headers for unknown in a query", async () => {
    await onEach(operations, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const name of reservedOf(call)) {
        const issues = expectIssues(
          await callRest(owner, endpoint, { ...call, query: { ...call.query, [name]: "1" } }),
        );
        expect(issues.map(({ location, path }) => [location, path])).to.deep.equal([["query", name]]);
      }
    });
  });

  it("ignores a body where none is taken", async () => {
    await onEach(bodiless, async (endpoint) => {
      const headers = { "Content-Type": "text/plain", "Content-Encoding": "gzip" };
      for (const body of ['{"half', "x".repeat(MAX_BYTES + 1)]) {
        const call = await successOf(owner, endpoint);
        expectOk(await callRest(owner, endpoint, call, headers, { body, path: pathOf(endpoint, call) }));
      }
    });
  });
});
