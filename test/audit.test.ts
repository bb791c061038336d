import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { type Answer, expectOk, ifMatch, keyed } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { auditOf, ownerId } from "./support/rows.js";

onEachBackend("the audit log", (backend) => {
  let owner: TestOwner;
  beforeEach(async () => {
    owner = await newOwner(backend);
  });

  it("gets exactly one row for every mutation but the paywall's, with its values", async () => {
    const qr = await newQr(owner);
    const agent = await newAgent(owner);
    const path = `/v1/qr/${qr.short_id}`;
    const agentPath = `/v1/agents/${agent.id}`;
    let asked = 0;
    const headers = (version?: number) => ({
      "X-Request-ID": `audited-${++asked}`,
      ...(version === undefined ? {} : ifMatch(version)),
    });
    type Expected = [procedure: string, resource: string, id: string | null, before: number | null, after: number];
    const [code, id] = [qr.short_id as string, String(agent.id)];
    const mutations: [ask: () => Promise<Answer>, expected: Expected | null][] = [
      [() => owner.api.post("/v1/qr", {}, headers()), ["qr.create", "qr", null, null, 1]],
      [() => owner.api.post("/v1/agents", { name: "x" }, headers()), ["agents.create", "agents", null, null, 1]],
      [() => owner.api.patch(path, {}, headers(1)), ["qr.update", "qr", code, 1, 2]],
      [() => owner.api.patch(agentPath, { name: "y" }, headers(1)), ["agents.update", "agents", id, 1, 2]],
      [
        () => owner.api.put(`${path}/agent`, { agent_id: agent.id }, headers(1)),
        ["bindings.attach", "qr_agent_binding", code, 1, 2],
      ],
      [() => owner.api.put(`${path}/paywall`, { paywall_enabled: true }, headers()), null],
      [() => owner.api.delete(`${path}/agent`, headers(2)), ["bindings.detach", "qr_agent_binding", code, 2, 3]],
      [() => owner.api.delete(`${path}/agent`, headers(3)), ["bindings.detach", "qr_agent_binding", code, 3, 4]],
      [
        () => owner.api.put(`${path}/agent`, { agent_id: agent.id }, headers(4)),
        ["bindings.attach", "qr_agent_binding", code, 4, 5],
      ],
      [() => owner.api.delete(agentPath, headers(2)), ["agents.deactivate", "agents", id, 2, 3]],
      [() => owner.api.delete(path, headers(2)), ["qr.delete", "qr", code, 2, 3]],
    ];
    const [owned, keyId] = [await ownerId(owner), owner.key.split("_")[1]];
    for (const [ask, expected] of mutations) {
      const before = await auditOf(owner);
      const body = expectOk(await ask());
      const [row, ...more] = (await auditOf(owner)).slice(before.length);
      expect(more).to.deep.equal([]);
      if (expected === null) {
        expect(row).to.equal(undefined);
        continue;
      }
      const [procedure, resource, resourceId, versionBefore, versionAfter] = expected;
      expect(row).to.include({
        owner_id: owned,
        key_id: keyId,
        request_id: `audited-${asked}`,
        procedure,
        resource,
        resource_id: resourceId ?? String(body.short_id ?? body.id),
        version_before: versionBefore,
        version_after: versionAfter,
      });
      expect(Math.abs(Date.parse(`${row?.created_at.replace(" ", "T")}Z`) - Date.now())).to.be.below(10_000);
    }
  });

  it("gets none for a failure, a replay or a read", async () => {
    const qr = await newQr(owner, { external_reference: "taken" });
    const inactive = await newAgent(owner, { is_active: false });
    const path = `/v1/qr/${qr.short_id}`;
    const key = keyed("once");
    expectOk(await owner.api.post("/v1/qr", { name: "keyed" }, key));
    const before = await auditOf(owner);
    const asked: [number, Promise<Answer>][] = [
      [200, owner.api.post("/v1/qr", { name: "keyed" }, key)],
      [409, owner.api.post("/v1/qr", { name: "other" }, key)],
      [409, owner.api.post("/v1/qr", { external_reference: "taken" })],
      [422, owner.api.post("/v1/qr", { name: 1 })],
      [409, owner.api.patch(path, {}, ifMatch(9))],
      [428, owner.api.patch(path, {})],
      [409, owner.api.delete(path, ifMatch(9))],
      [404, owner.api.delete("/v1/qr/2222222222", ifMatch(1))],
      [409, owner.api.put(`${path}/agent`, { agent_id: inactive.id }, ifMatch(1))],
      [409, owner.api.delete(`${path}/agent`, ifMatch(9))],
      [409, owner.api.delete(`/v1/agents/${inactive.id}`, ifMatch(9))],
      [200, owner.api.get(path)],
      [200, owner.api.get("/v1/qr")],
      [200, owner.api.get(`${path}/agent`)],
      [200, owner.api.get("/v1/qr/by-external-reference/taken/public-voice-readiness")],
    ];
    for (const [status, answer] of asked) expect((await answer).status, (await answer).text).to.equal(status);
    expect(await auditOf(owner)).to.deep.equal(before);
  });
});
