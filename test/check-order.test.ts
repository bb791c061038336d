import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch, keyed } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

type Fault = "route" | "key" | "scope" | "version missing" | "body" | "idempotency" | "visibility" | "stale" | "state";

/** The order of the contract: of two faults the first answers. */
const ORDER: [fault: Fault, status: number, code: string][] = [
  ["route", 404, "ROUTE_NOT_FOUND"],
  ["key", 401, "API_KEY_INVALID"],
  ["scope", 403, "INSUFFICIENT_SCOPE"],
  ["version missing", 428, "RESOURCE_VERSION_REQUIRED"],
  ["body", 422, "VALIDATION_FAILED"],
  ["idempotency", 409, "IDEMPOTENCY_CONFLICT"],
  ["visibility", 404, "RESOURCE_NOT_FOUND"],
  ["stale", 409, "RESOURCE_VERSION_CONFLICT"],
  ["state", 409, "BINDING_TARGET_INACTIVE"],
];

onEachBackend("Order of checks", (backend) => {
  let owner: TestOwner;
  let reader: TestOwner;
  let used = 0;
  before(async () => {
    const name = `order ${process.pid} ${backend}`;
    owner = await newOwner(backend, undefined, name);
    reader = await newOwner(backend, ["bindings:read"], name);
  });

  /** PUT of a binding with all these faults at once. */
  async function attachWith(faults: readonly Fault[]): Promise<Answer> {
    const has = (fault: Fault) => faults.includes(fault);
    const qr = await newQr(owner);
    const agent = await newAgent(owner, { is_active: !has("state") });
    const headers: Record<string, string> = {};
    if (has("scope")) headers["X-API-Key"] = reader.key;
    if (has("key")) headers["X-API-Key"] = "qrv_none";
    if (!has("version missing")) Object.assign(headers, ifMatch(has("stale") ? 9 : 1));
    if (has("idempotency")) {
      Object.assign(headers, keyed(`used-${++used}`));
      expectOk(await owner.api.post("/v1/qr", {}, keyed(`used-${used}`)));
    }
    const body = { agent_id: has("visibility") ? 2_147_483_000 : agent.id, ...(has("body") ? { unknown: 1 } : {}) };
    return owner.api.put(`/v1/qr/${qr.short_id}/agent${has("route") ? "/" : ""}`, body, headers);
  }

  it("accepts the request without a fault", async () => {
    expectOk(await attachWith([]));
  });

  ORDER.forEach(([fault, status, code], index) => {
    it(`answers ${code} whatever else is wrong that comes later`, async () => {
      expectError(await attachWith([fault]), status, code);
      const later = ORDER.slice(index + 1).map(([one]) => one);
      for (const other of later) expectError(await attachWith([fault, other]), status, code);
      expectError(await attachWith([fault, ...later]), status, code);
    });
  });

  it("answers a taken reference last", async () => {
    await newQr(owner, { external_reference: "taken" });
    const { short_id } = await newQr(owner);
    const body = { external_reference: "taken" };
    const path = `/v1/qr/${short_id}`;
    expectError(await owner.api.patch(path, body, ifMatch(2)), 409, "RESOURCE_VERSION_CONFLICT");
    expectError(await owner.api.patch("/v1/qr/k3WdP9xTqa", body, ifMatch(1)), 404, "RESOURCE_NOT_FOUND");
    expectError(await owner.api.patch(path, body, ifMatch(1)), 409, "EXTERNAL_REFERENCE_CONFLICT", null);
  });

  it("answers a replay even when the version has moved on or the resource is gone", async () => {
    const { short_id } = await newQr(owner);
    const { id } = await newAgent(owner);
    const attach = () =>
      owner.api.put(`/v1/qr/${short_id}/agent`, { agent_id: id }, { ...ifMatch(1), ...keyed("moved") });
    const first = expectOk(await attach());
    expectOk(await owner.api.delete(`/v1/agents/${id}`, ifMatch(1)));
    expectOk(await owner.api.delete(`/v1/qr/${short_id}`, ifMatch(1)));
    const again = await attach();
    expect(expectOk(again)).to.deep.equal(first);
    expect(again.headers["idempotency-replayed"]).to.equal("true");
  });
});
