import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { appRouter } from "../routers/index.js";
import { openApiText } from "../src/openapi.js";
import type { Fragment } from "../src/openapi-parts.js";
import { endpointsOf } from "../src/procedures.js";
import { onEachBackend } from "./support/backends.js";
import { apiClient, expectOk } from "./support/http.js";
import { newOwner } from "./support/owners.js";

/** The specification's endpoint table: statuses besides 200. */
const TABLE: Record<string, number[]> = {
  "GET /v1/capabilities": [401, 404, 422, 500],
  "POST /v1/qr": [401, 403, 404, 409, 422, 500],
  "GET /v1/qr": [401, 403, 404, 422, 500],
  "GET /v1/qr/by-external-reference/{external_reference}": [401, 403, 404, 422, 500],
  "GET /v1/qr/by-external-reference/{external_reference}/public-voice-readiness": [401, 403, 404, 422, 500],
  "GET /v1/qr/{short_id}": [401, 403, 404, 422, 500],
  "PATCH /v1/qr/{short_id}": [401, 403, 404, 409, 422, 428, 500],
  "DELETE /v1/qr/{short_id}": [401, 403, 404, 409, 422, 428, 500],
  "PUT /v1/qr/{short_id}/paywall": [401, 403, 404, 422, 500],
  "GET /v1/qr/{short_id}/paywall": [401, 403, 404, 422, 500],
  "POST /v1/agents": [401, 403, 404, 409, 422, 500],
  "GET /v1/agents": [401, 403, 404, 422, 500],
  "GET /v1/agents/by-external-reference/{external_reference}": [401, 403, 404, 422, 500],
  "GET /v1/agents/{agent_id}": [401, 403, 404, 422, 500],
  "PATCH /v1/agents/{agent_id}": [401, 403, 404, 409, 422, 428, 500],
  "DELETE /v1/agents/{agent_id}": [401, 403, 404, 409, 422, 428, 500],
  "GET /v1/qr/{short_id}/agent": [401, 403, 404, 422, 500],
  "PUT /v1/qr/{short_id}/agent": [401, 403, 404, 409, 422, 428, 500],
  "DELETE /v1/qr/{short_id}/agent": [401, 403, 404, 409, 422, 428, 500],
};

const document = JSON.parse(openApiText(appRouter));
const operations = Object.entries<Record<string, Fragment>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

describe("OpenAPI document", () => {
  it("is committed as it is made: `npm run openapi` writes it", async () => {
    const committed = await readFile(new URL("../openapi.json", import.meta.url), "utf8");
    expect(committed === openApiText(appRouter), "openapi.json is stale; run npm run openapi").to.equal(true);
  });

  it("has the statuses of the endpoint table and no others, each with its body", () => {
    const statuses = operations.map(({ name, operation }) => [name, Object.keys(operation.responses).map(Number)]);
    const expected = Object.entries(TABLE).map(([name, errors]) => [name, [200, ...errors]]);
    expect(Object.fromEntries(statuses)).to.deep.equal(Object.fromEntries(expected));
    for (const { operation } of operations) {
      for (const status of Object.keys(operation.responses).filter((code) => code !== "200")) {
        const { schema } = operation.responses[status].content["application/json"];
        expect(schema).to.deep.equal({ $ref: "#/components/schemas/PublicErrorEnvelope" });
      }
    }
  });

  it("names each operation's scopes and headers", () => {
    for (const { operation: facts, isPublic } of endpointsOf(appRouter).values()) {
      if (!isPublic) continue;
      const { operation } = operations.find(({ name }) => name === `${facts.method} ${facts.path}`)!;
      const refs = new Set(
        operation.parameters.map((parameter: { $ref?: string }) => parameter.$ref?.split("/").pop()),
      );
      expect(operation.security).to.deep.equal([{ ApiKey: facts.scopes }]);
      expect(refs.has("IfMatchVersion")).to.equal(facts.versioned);
      expect(refs.has("IdempotencyKey")).to.equal(facts.idempotent);
      expect("Idempotency-Replayed" in operation.responses[200].headers).to.equal(facts.idempotent);
      if (facts.idempotent) expect(operation.responses[409].headers).to.have.property("Retry-After");
    }
  });

  it("gives every success an example that fits", () => {
    for (const { name, isPublic, operation: facts, output } of endpointsOf(appRouter).values()) {
      if (!isPublic) continue;
      const { operation } = operations.find((one) => one.name === `${facts.method} ${facts.path}`)!;
      const { example } = operation.responses[200].content["application/json"];
      expect(output.safeParse(example).error, name).to.equal(undefined);
    }
  });
});

onEachBackend("OpenAPI document", (backend) => {
  it("is served, and its example bodies are accepted", async () => {
    const owner = await newOwner(backend);
    expect(expectOk(await apiClient(owner.running.url, "").get("/openapi.json"))).to.deep.equal(document);
    for (const path of ["/v1/qr", "/v1/agents"]) {
      const { example } = document.paths[path].post.requestBody.content["application/json"];
      expectOk(await owner.api.post(path, example));
    }
  });
});
