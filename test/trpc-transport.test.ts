// oxlint-disable typescript/no-explicit-any -- what was answered is checked member by member
import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectOk, keyed, send } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { expectTrpcError } from "./support/trpc.js";

const expectRefused = (answer: Answer, status: number, code: string, details?: unknown) => {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers["content-type"]).to.equal("application/json; charset=utf-8");
  expectTrpcError(answer.body, answer.headers["x-request-id"], status, code, details);
};

const places = (answer: Answer) =>
  answer.body.error.data.error.details.issues.map((issue: any) => [issue.location, issue.path]);

onEachBackend("tRPC over HTTP", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  const query = (name: string, input?: unknown, headers = {}) => {
    const search = input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`;
    return owner.api.get(`/trpc/${name}${search}`, headers);
  };
  const mutate = (name: string, input: unknown, headers = {}) => owner.api.post(`/trpc/${name}`, input, headers);
  const batch = (names: string[], inputs: object, headers = {}) =>
    owner.api.post(`/trpc/${names.join(",")}?batch=1`, inputs, headers);

  it("answers a query and a mutation with tRPC's envelope and our headers", async () => {
    for (const answer of [await query("capabilities.get", {}), await mutate("qr.create", { name: "x" })]) {
      expect(Object.keys(expectOk(answer))).to.deep.equal(["result"]);
      expect(Object.keys(answer.body.result)).to.deep.equal(["data"]);
      expect(answer.headers).to.include({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
      expect(answer.headers).to.not.have.any.keys("etag", "x-powered-by");
    }
  });

  it("takes a query without input for one with an empty input", async () => {
    for (const name of ["capabilities.get", "qr.list", "agents.list"]) {
      expect(expectOk(await query(name))).to.deep.equal(expectOk(await query(name, {})));
      expectOk(await owner.api.get(`/trpc/${name},${name}?batch=1`));
    }
    expect(places(await query("qr.get"))).to.deep.equal([["path", "short_id"]]);
    expectRefused(await query("qr.list", null), 422, "VALIDATION_FAILED");
  });

  it("refuses an unknown procedure and the wrong method with 404", async () => {
    for (const name of [
      "none",
      "qr",
      "qr.none",
      "qr.create.x",
      "toString",
      "__proto__",
      "%zz",
      "qr%2Elist,",
      "QR.list",
    ]) {
      expectRefused(await query(name), 404, "ROUTE_NOT_FOUND", null);
      expectRefused(await mutate(name, {}), 404, "ROUTE_NOT_FOUND", null);
    }
    expectRefused(await query("qr.create", {}), 404, "ROUTE_NOT_FOUND", null);
    expectRefused(await mutate("qr.list", {}), 404, "ROUTE_NOT_FOUND", null);
    for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
      expectRefused(await owner.api.call(method, "/trpc/qr.list"), 404, "ROUTE_NOT_FOUND", null);
    }
    expect((await owner.api.call("HEAD", "/trpc/qr.list")).status).to.equal(200);
  });

  it("refuses what is not strict JSON with 422", async () => {
    const bad = ["", "{", "[]", "null", '"x"', "\uFEFF{}", '{"name":"\\ud800"}', '{"__proto__":1}', '{"a":1e400}'];
    for (const body of bad) {
      const answer = await mutate("qr.create", body);
      expectRefused(answer, 422, "VALIDATION_FAILED");
      expect(places(answer), body).to.deep.equal([["body", ""]]);
      const inQuery = await owner.api.get(`/trpc/qr.list?input=${encodeURIComponent(body)}`);
      expectRefused(inQuery, 422, "VALIDATION_FAILED");
      expect(places(inQuery)[0][0]).to.equal("query");
    }
    for (const input of ["%FF", "%7B%22limit%22:1%7D%zz", "{}%C3"]) {
      const answer = await owner.api.get(`/trpc/qr.list?input=${input}`);
      expectRefused(answer, 422, "VALIDATION_FAILED");
      expect(places(answer)).to.deep.equal([["query", ""]]);
    }
    for (const headers of [{ "Content-Type": "text/plain" }, { "Content-Encoding": "gzip" }]) {
      expectRefused(await mutate("qr.create", {}, headers), 422, "VALIDATION_FAILED");
    }
    expectRefused(await mutate("qr.create", "{}".padEnd(1024 * 1024 + 1)), 422, "VALIDATION_FAILED");
    expectOk(await mutate("qr.create", "{}".padEnd(1024 * 1024)));
  });

  it("checks key, scope and version before it reads the input", async () => {
    const { api } = await newOwner(backend, ["qr:read"]);
    expectRefused(await api.post("/trpc/qr.update", "{"), 403, "INSUFFICIENT_SCOPE", {
      required_scopes: ["qr:write"],
      missing_scopes: ["qr:write"],
    });
    const keyless = await send(owner.running.url, { method: "POST", path: "/trpc/qr.update", body: "{" });
    expectRefused(keyless, 401, "AUTHENTICATION_REQUIRED", null);
    expect(keyless.headers["www-authenticate"]).to.equal("ApiKey");
    for (const input of [{ unknown: 1 }, {}, []]) {
      expectRefused(await mutate("qr.update", input), 428, "RESOURCE_VERSION_REQUIRED", null);
    }
    for (const version of [0, -1, 1.5, "1", null, true]) {
      const answer = await mutate("qr.delete", { short_id: "x", if_match_version: version });
      expectRefused(answer, 422, "VALIDATION_FAILED");
      expect(places(answer)).to.deep.equal([["header", "If-Match-Version"]]);
    }
  });

  it("takes a version that no column holds for a stale one", async () => {
    const { short_id } = await newQr(owner);
    for (const version of [2 ** 31, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e20, 1e300]) {
      expectRefused(
        await mutate("qr.update", { short_id, if_match_version: version }),
        409,
        "RESOURCE_VERSION_CONFLICT",
        {
          expected_version: Math.min(version, Number.MAX_SAFE_INTEGER),
          current_version: 1,
        },
      );
    }
  });

  it("ignores the headers that are input here", async () => {
    const { short_id } = await newQr(owner);
    const headers = { "If-Match-Version": "1", ...keyed("header") };
    expectRefused(await mutate("qr.delete", { short_id }, headers), 428, "RESOURCE_VERSION_REQUIRED", null);
    expectOk(await mutate("qr.update", { short_id, if_match_version: 1 }, { "If-Match-Version": "9" }));
    for (const key of ["header", "not a key"]) {
      const made = await mutate("qr.create", {}, keyed(key));
      expect(made.headers).to.not.have.property("idempotency-replayed");
      expect(expectOk(made).result.data.short_id).to.not.equal(short_id);
    }
  });

  it("carries Idempotency-Replayed and Retry-After in the headers of an unbatched call", async () => {
    const { id } = await newAgent(owner);
    const { short_id } = await newQr(owner);
    const attach = (version: number, idempotency_key: string) =>
      mutate("bindings.attach", { short_id, agent_id: id, if_match_version: version, idempotency_key });
    const first = await attach(1, "trpc");
    const again = await attach(1, "trpc");
    expectOk(first);
    expect(first.headers).to.not.have.property("idempotency-replayed");
    expect(again.text).to.equal(first.text);
    expect(again.headers["idempotency-replayed"]).to.equal("true");
    for (const [answer, code] of [
      [await attach(2, "trpc"), "IDEMPOTENCY_CONFLICT"],
      [await attach(1, "stale"), "RESOURCE_VERSION_CONFLICT"],
    ] as const) {
      expectRefused(answer, 409, code);
      expect(answer.body.error.data.retry_after).to.equal(1);
      expect(answer.headers["retry-after"]).to.equal("1");
    }
    const stale = await mutate("qr.update", { short_id, if_match_version: 9 });
    expectRefused(stale, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 9, current_version: 1 });
    expect(stale.body.error.data).to.not.have.property("retry_after");
    expect(stale.headers).to.not.have.property("retry-after");
  });

  it("takes batches of up to 20", async () => {
    const names = Array.from({ length: 20 }, () => "qr.create");
    const inputs = Object.fromEntries(names.map((_name, index) => [index, { name: `batch ${index}` }]));
    const answers = expectOk(await batch(names, inputs));
    expect(answers.map((one: any) => one.result.data.name)).to.deep.equal(
      Object.values(inputs).map((input) => input.name),
    );
    expectRefused(await batch([...names, "qr.create"], inputs), 422, "VALIDATION_FAILED");
    const lists = Array.from({ length: 21 }, () => "qr.list").join(",");
    expectRefused(await owner.api.get(`/trpc/${lists}?batch=1`), 422, "VALIDATION_FAILED");
    const keyless = await send(owner.running.url, { method: "GET", path: `/trpc/${lists}?batch=1` });
    expectRefused(keyless, 401, "AUTHENTICATION_REQUIRED", null);
    expect(keyless.headers["www-authenticate"]).to.equal("ApiKey");
    expect((await owner.api.post("/trpc/qr.create?batch=1", [{}])).status).to.equal(422);
  });

  it("joins short and long answers, in any order, to the bytes that each has alone", async () => {
    const short = await newQr(owner, { name: "🪧" });
    const long = await newQr(owner, { description: "é🚪".repeat(900) });
    const path = (ids: string[]) => {
      const inputs = Object.fromEntries(ids.map((short_id, index) => [index, { short_id }]));
      return `/trpc/${ids.map(() => "qr.get").join(",")}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`;
    };
    const alone = new Map<string, string>();
    for (const { short_id } of [short, long]) alone.set(short_id, (await query("qr.get", { short_id })).text);
    for (const order of ["s", "l", "sl", "ls", "lls", "slsls", "lslll"]) {
      const ids = [...order].map((one) => (one === "s" ? short : long).short_id);
      const answer = await owner.api.get(path(ids));
      expect(answer.text, order).to.equal(`[${ids.map((id) => alone.get(id)).join(",")}]`);
      expect(answer.headers["content-length"]).to.equal(String(Buffer.byteLength(answer.text)));
      const head = await owner.api.call("HEAD", path(ids));
      expect(head.headers["content-length"]).to.equal(answer.headers["content-length"]);
      expect(head.text).to.equal("");
    }
  });

  it("answers a mixed batch with 207, each call under its own scopes and one request id", async () => {
    const { api } = await newOwner(backend, ["qr:write"]);
    const names = "qr.create,agents.create,qr.delete,none,qr.list,qr.create";
    const inputs = { 0: {}, 1: {}, 2: {}, 4: {}, 5: { name: 1 } };
    const answer = await api.post(`/trpc/${names}?batch=1`, inputs, { "X-Request-ID": "batch" });
    expect(answer.status).to.equal(207);
    expect(answer.headers["x-request-id"]).to.equal("batch");
    expect(answer.headers).to.not.have.any.keys("retry-after", "www-authenticate");
    expect(answer.body[0].result.data.resource_version).to.equal(1);
    for (const [index, status, code] of [
      [1, 403, "INSUFFICIENT_SCOPE"],
      [2, 428, "RESOURCE_VERSION_REQUIRED"],
      [3, 404, "ROUTE_NOT_FOUND"],
      [4, 404, "ROUTE_NOT_FOUND"],
      [5, 422, "VALIDATION_FAILED"],
    ] as const) {
      expectTrpcError(answer.body[index], "batch", status, code);
    }
  });

  it("answers a batch that fails in one way with that status", async () => {
    const keyless = await send(owner.running.url, { method: "GET", path: "/trpc/qr.list,qr.get?batch=1" });
    expect(keyless.status).to.equal(401);
    expect(keyless.headers["www-authenticate"]).to.equal("ApiKey");
    for (const body of ["[", "null", '"x"', "1"]) {
      const answer = await owner.api.post("/trpc/qr.create,qr.create?batch=1", body);
      expect(answer.status).to.equal(422);
      for (const one of answer.body) {
        expectTrpcError(one, answer.headers["x-request-id"], 422, "VALIDATION_FAILED");
      }
    }
  });
});
