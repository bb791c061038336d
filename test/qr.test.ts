import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { auditOf, storedQr } from "./support/rows.js";

const SHORT_ID = /^[23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ]{10}$/;
const KEYS = [
  "short_id",
  "scan_url",
  "name",
  "description",
  "destination_url",
  "external_reference",
  "property_context",
  "is_active",
  "resource_version",
  "created_at",
  "updated_at",
];

onEachBackend("QR codes", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  const byReference = (reference: string) =>
    owner.api.get(`/v1/qr/by-external-reference/${encodeURIComponent(reference)}`);

  it("makes an active one of {}, with every key", async () => {
    const qr = await newQr(owner);
    expect(qr).to.have.all.keys(KEYS);
    const { short_id, created_at, updated_at, ...rest } = qr;
    expect(short_id).to.match(SHORT_ID);
    expect(rest).to.deep.equal({
      scan_url: `https://qr.example/s/${short_id}`,
      name: null,
      description: null,
      destination_url: null,
      external_reference: null,
      property_context: null,
      is_active: true,
      resource_version: 1,
    });
    expect(created_at).to.equal(updated_at);
    expect(Math.abs(Date.now() - Date.parse(created_at))).to.be.below(10_000);
    expect(expectOk(await owner.api.get(`/v1/qr/${short_id}`))).to.deep.equal(qr);
  });

  it("refuses a stale version and writes nothing", async () => {
    const qr = await newQr(owner);
    const changed = expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "a" }, ifMatch(1)));
    const before = await storedQr(owner, qr.short_id);
    const stale = await owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "b" }, ifMatch(1));
    expectError(stale, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 1, current_version: 2 });
    expectError(await owner.api.delete(`/v1/qr/${qr.short_id}`, ifMatch(3)), 409, "RESOURCE_VERSION_CONFLICT");
    const huge = await owner.api.delete(`/v1/qr/${qr.short_id}`, ifMatch("99999999999999999999999"));
    expectError(huge, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 2 ** 53 - 1, current_version: 2 });
    expect(await storedQr(owner, qr.short_id)).to.deep.equal(before);
    expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`))).to.deep.equal(changed);
  });

  it("adds exactly 1 for every accepted PATCH, an empty one and one that changes nothing too", async () => {
    const qr = await newQr(owner, { name: "same" });
    for (const [index, body] of [{}, { name: "same" }, { is_active: null }, { name: null }].entries()) {
      const changed = expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, body, ifMatch(index + 1)));
      expect(changed.resource_version).to.equal(index + 2);
      expect(changed.updated_at >= qr.updated_at).to.equal(true);
      expect(changed.created_at).to.equal(qr.created_at);
    }
  });

  it("lets exactly one of 20 concurrent PATCHes at one version through", async () => {
    const qr = await newQr(owner);
    const path = `/v1/qr/${qr.short_id}`;
    // Several rounds: in the first one the pool still opens its connections, one after the other.
    for (let version = 1; version <= 5; version++) {
      const names = Array.from({ length: 20 }, (_, index) => `writer ${index}`);
      const answers = await Promise.all(names.map((name) => owner.api.patch(path, { name }, ifMatch(version))));
      const won = answers.filter((answer) => answer.status === 200);
      expect(won).to.have.length(1);
      const conflict = { expected_version: version, current_version: version + 1 };
      for (const lost of answers.filter((answer) => answer.status !== 200))
        expectError(lost, 409, "RESOURCE_VERSION_CONFLICT", conflict);
      expect(expectOk(await owner.api.get(path))).to.deep.equal(won[0]?.body);
    }
    const audited = (await auditOf(owner)).filter((row) => row.resource_id === qr.short_id);
    expect(audited.map((row) => row.version_after)).to.deep.equal([1, 2, 3, 4, 5, 6]);
  });

  it("hides an inactive one from GET, and reaches it by every other way", async () => {
    const agent = await newAgent(owner);
    const draft = await newQr(owner, { is_active: false, external_reference: "draft" });
    const path = `/v1/qr/${draft.short_id}`;
    expect(draft).to.include({ is_active: false, resource_version: 1 });
    expectError(await owner.api.get(path), 404, "RESOURCE_NOT_FOUND", null);
    expect(expectOk(await byReference("draft"))).to.deep.equal(draft);
    expectOk(await owner.api.put(`${path}/paywall`, { paywall_enabled: true }));
    expectOk(await owner.api.get(`${path}/paywall`));
    expectOk(await owner.api.put(`${path}/agent`, { agent_id: agent.id }, ifMatch(1)));
    expectOk(await owner.api.get(`${path}/agent`));
    expectOk(await owner.api.delete(`${path}/agent`, ifMatch(2)));
    expectOk(await owner.api.get("/v1/qr/by-external-reference/draft/public-voice-readiness"));
    const renamed = expectOk(await owner.api.patch(path, { name: "still a draft" }, ifMatch(1)));
    expect(renamed).to.include({ is_active: false, resource_version: 2 });
    expect(expectOk(await owner.api.patch(path, { is_active: true }, ifMatch(2))).is_active).to.equal(true);
    expectOk(await owner.api.get(path));
    const off = expectOk(await owner.api.patch(path, { is_active: false }, ifMatch(3)));
    expect(off.updated_at >= renamed.updated_at).to.equal(true);
    expectOk(await owner.api.delete(path, ifMatch(4)));
  });

  it("moves updated_at with resource_version only", async () => {
    const agent = await newAgent(owner);
    const qr = await newQr(owner);
    const path = `/v1/qr/${qr.short_id}`;
    await new Promise((resolve) => setTimeout(resolve, 3));
    expectOk(await owner.api.put(`${path}/paywall`, { paywall_enabled: true }));
    expectOk(await owner.api.put(`${path}/agent`, { agent_id: agent.id }, ifMatch(1)));
    expectOk(await owner.api.delete(`${path}/agent`, ifMatch(2)));
    expect(expectOk(await owner.api.get(path))).to.deep.equal(qr);
    expect(expectOk(await owner.api.patch(path, {}, ifMatch(1))).updated_at > qr.updated_at).to.equal(true);
  });

  it("soft-deletes: detaches, frees the reference, keeps the row and never reuses the short_id", async () => {
    const agent = await newAgent(owner);
    const qr = await newQr(owner, { external_reference: "to delete", name: "kept" });
    const path = `/v1/qr/${qr.short_id}`;
    expectOk(
      await owner.api.put(`${path}/agent`, { agent_id: agent.id, override: { voice_name: "Kore" } }, ifMatch(1)),
    );
    const gone = expectOk(await owner.api.delete(path, ifMatch(1)));
    expect(gone).to.deep.equal({
      status: "deactivated",
      short_id: qr.short_id,
      is_active: false,
      resource_version: 2,
    });
    const row = await storedQr(owner, qr.short_id);
    expect(row).to.include({ name: "kept", is_active: 0, resource_version: 2, binding_version: 3 });
    expect(row).to.include({ agent_id: null, binding_override: null, binding_marker: null });
    const every: [method: string, suffix: string, body?: object][] = [
      ["GET", ""],
      ["PATCH", "", {}],
      ["DELETE", ""],
      ["GET", "/agent"],
      ["PUT", "/agent", { agent_id: agent.id }],
      ["DELETE", "/agent"],
      ["GET", "/paywall"],
      ["PUT", "/paywall", { paywall_enabled: false }],
    ];
    for (const [method, suffix, body] of every)
      expectError(await owner.api.call(method, path + suffix, body, ifMatch(2)), 404, "RESOURCE_NOT_FOUND", null);
    expectError(await byReference("to delete"), 404, "RESOURCE_NOT_FOUND");
    const again = await newQr(owner, { external_reference: "to delete" });
    expect(again.short_id).not.to.equal(qr.short_id);
    const { detached_qr_count } = expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1)));
    expect(detached_qr_count, "of the deleted code it was detached before").to.equal(0);
  });
});
