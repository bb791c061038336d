import { expect } from "chai";
import { ALL_SCOPES, type Scope } from "../src/scopes.js";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectOk } from "./support/http.js";
import { newOwner } from "./support/owners.js";

const NONE = { qr: [], paywall: [], agents: [], qr_agent_binding: [] };
const ALL = {
  qr: ["create", "list", "read", "update", "delete", "read_public_voice_readiness"],
  paywall: ["read", "replace"],
  agents: ["create", "list", "read", "update", "deactivate"],
  qr_agent_binding: ["read", "attach", "detach"],
};
const READINESS = "read_public_voice_readiness";

/** The actions of each key, scope by scope. */
const NARROWED: [scopes: Scope[], resources: object][] = [
  [[], NONE],
  [["qr:read"], { ...NONE, qr: ["list", "read"], paywall: ["read"] }],
  [["qr:write"], { ...NONE, qr: ["create", "update", "delete"], paywall: ["replace"] }],
  [["agents:read"], { ...NONE, agents: ["list", "read"] }],
  [["agents:write"], { ...NONE, agents: ["create", "update", "deactivate"] }],
  [["bindings:read"], { ...NONE, qr_agent_binding: ["read"] }],
  [["bindings:write"], { ...NONE, qr_agent_binding: ["attach", "detach"] }],
  [
    ["qr:read", "bindings:read"],
    { ...NONE, qr: ["list", "read", READINESS], paywall: ["read"], qr_agent_binding: ["read"] },
  ],
  [ALL_SCOPES, ALL],
];

onEachBackend("capabilities", (backend) => {
  for (const [scopes, resources] of NARROWED) {
    it(`of a key with ${scopes.join(", ") || "no scope"}`, async () => {
      const owner = await newOwner(backend, scopes);
      const { notes, authorization, ...rest } = expectOk(await owner.api.get("/v1/capabilities"));
      expect(rest).to.deep.equal({
        api_version: "v1",
        resources,
        concurrency: {
          resource_versions: true,
          conditional_version_header: "If-Match-Version",
          stale_version_error: "RESOURCE_VERSION_CONFLICT",
          versioned_resource_types: ["qr", "agents", "qr_agent_binding"],
        },
        sensitive_resources_exposed: [],
      });
      expect(authorization.effective_scopes).to.deep.equal(scopes);
      expect(authorization.available_scopes.map((scope: { name: string }) => scope.name)).to.deep.equal(ALL_SCOPES);
      for (const scope of authorization.available_scopes) {
        expect(Object.keys(scope)).to.deep.equal(["name", "description"]);
        expect(scope.description).to.be.a("string").and.not.equal("");
      }
      expect(Object.keys(authorization)).to.deep.equal(["effective_scopes", "available_scopes"]);
      const text = notes.join("\n");
      for (const exception of ["paywall", "replay", "null"]) expect(text).to.include(exception);
    });
  }

  it("are for valid keys only, and take no parameter", async () => {
    const owner = await newOwner(backend, []);
    const anonymous = await owner.api.get("/v1/capabilities", { "X-API-Key": "qrv_nonsense" });
    expectError(anonymous, 401, "API_KEY_INVALID", null);
    expectError(await owner.api.get("/v1/capabilities?x=1"), 422, "VALIDATION_FAILED");
  });
});
