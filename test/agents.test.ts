import { expect } from "chai";
import { onEachBackend, query } from "./support/backends.js";
import { expectError, expectIssues, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { auditOf, ownerId, seedQrCodes, storedQr } from "./support/rows.js";

onEachBackend("agents", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  it("are made of a name alone, with the defaults of the specification", async () => {
    const agent = await newAgent(owner, { name: "Only a name" });
    const { id, created_at, updated_at, ...rest } = agent;
    expect(id).to.be.a("number").and.above(0);
    expect(created_at)
      .to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      .and.equal(updated_at);
    expect(rest).to.deep.equal({
      name: "Only a name",
      description: null,
      external_reference: null,
      model: "gemini-3.1-flash-live-preview",
      system_prompt: null,
      greeting_message: null,
      greeting_enabled: true,
      trigger_message: null,
      trigger_enabled: true,
      voice_name: "Puck",
      turn_coverage: "activity_only",
      email_notifications_enabled: false,
      tools: null,
      extra_config: null,
      is_active: true,
      resource_version: 1,
    });
    expect(expectOk(await owner.api.get(`/v1/agents/${id}`))).to.deep.equal(agent);
  });

  it("are read while inactive, and switched on again", async () => {
    const draft = await newAgent(owner, { is_active: false, external_reference: `off ${backend}` });
    expect(draft).to.include({ is_active: false, resource_version: 1 });
    expect(expectOk(await owner.api.get(`/v1/agents/${draft.id}`))).to.deep.equal(draft);
    const found = await owner.api.get(`/v1/agents/by-external-reference/off%20${backend.replaceAll(" ", "%20")}`);
    expect(expectOk(found)).to.deep.equal(draft);
    const on = expectOk(await owner.api.patch(`/v1/agents/${draft.id}`, { is_active: true }, ifMatch(1)));
    expect(on).to.include({ is_active: true, resource_version: 2 });
  });

  it("keep their bindings when a PATCH switches them off", async () => {
    const agent = await newAgent(owner);
    const qr = await newQr(owner);
    const bound = expectOk(await owner.api.put(`/v1/qr/${qr.short_id}/agent`, { agent_id: agent.id }, ifMatch(1)));
    expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { is_active: false }, ifMatch(1)));
    const binding = expectOk(await owner.api.get(`/v1/qr/${qr.short_id}/agent`));
    expect(binding).to.deep.equal({ ...bound, agent: { id: agent.id, resource_version: 2 } });
    const gone = expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(2)));
    expect(gone, "DELETE of the inactive one detaches").to.deep.equal({
      status: "deactivated",
      agent_id: agent.id,
      is_active: false,
      resource_version: 3,
      detached_qr_count: 1,
    });
  });

  it("are deactivated as often as asked, each time at the current version", async () => {
    const agent = await newAgent(owner);
    for (const version of [1, 2, 3]) {
      const gone = expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(version)));
      expect(gone).to.include({ is_active: false, resource_version: version + 1, detached_qr_count: 0 });
    }
    const stale = await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(2));
    expectError(stale, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 2, current_version: 4 });
    expect(stale.headers, "DELETE of an agent is not idempotent").not.to.have.property("retry-after");
    const now = expectOk(await owner.api.get(`/v1/agents/${agent.id}`));
    expect(now).to.include({ is_active: false, resource_version: 4 });
    expect(expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, { is_active: true }, ifMatch(4)))).to.include({
      is_active: true,
      resource_version: 5,
    });
  });

  it("are detached from every QR code by DELETE, drafts too, and from no other's", async () => {
    const [agent, other] = [await newAgent(owner), await newAgent(owner)];
    const codes = [await newQr(owner), await newQr(owner, { is_active: false }), await newQr(owner)];
    const kept = await newQr(owner);
    const override = { greeting_message: "Hello" };
    for (const qr of codes)
      expectOk(await owner.api.put(`/v1/qr/${qr.short_id}/agent`, { agent_id: agent.id, override }, ifMatch(1)));
    const untouched = expectOk(
      await owner.api.put(`/v1/qr/${kept.short_id}/agent`, { agent_id: other.id }, ifMatch(1)),
    );
    const gone = expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1)));
    expect(gone.detached_qr_count).to.equal(3);
    for (const qr of codes) {
      const binding = expectOk(await owner.api.get(`/v1/qr/${qr.short_id}/agent`));
      expect(binding).to.include({ binding_version: 3, agent: null, override: null });
      const row = await storedQr(owner, qr.short_id);
      expect(row).to.include({ binding_marker: null, resource_version: 1, binding_override: null });
    }
    expect(expectOk(await owner.api.get(`/v1/qr/${kept.short_id}/agent`))).to.deep.equal(untouched);
    const audit = (await auditOf(owner)).findLast((row) => row.procedure === "agents.deactivate");
    expect(audit).to.include({ resource: "agents", resource_id: String(agent.id), version_before: 1 });
  });

  it("are detached from 10,000 QR codes in one DELETE", async () => {
    const rich = await newOwner(backend);
    const agent = await newAgent(rich);
    const bystander = await newAgent(rich);
    await seedQrCodes(rich, 10_000, { agent_id: agent.id, is_active: "i % 2" });
    await seedQrCodes(rich, 10, { agent_id: bystander.id });
    const gone = expectOk(await rich.api.delete(`/v1/agents/${agent.id}`, ifMatch(1)));
    expect(gone.detached_qr_count).to.equal(10_000);
    const counted = await query<Record<string, number | string | null>>(
      rich.running,
      "SELECT agent_id, binding_version, COUNT(*) AS n, COUNT(binding_override) AS overrides FROM qr_codes WHERE owner_id = ? GROUP BY agent_id, binding_version ORDER BY agent_id",
      [await ownerId(rich)],
    );
    const numbers = counted.map((row) => Object.values(row).map((value) => (value === null ? null : Number(value))));
    expect(numbers).to.deep.equal([
      [null, 3, 10_000, 0],
      [bystander.id, 2, 10, 10],
    ]);
  });

  it("lets exactly one of 20 concurrent PATCHes at one version through", async () => {
    const agent = await newAgent(owner);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        owner.api.patch(`/v1/agents/${agent.id}`, { name: `writer ${index}` }, ifMatch(1)),
      ),
    );
    const [won, ...more] = answers.filter((answer) => answer.status === 200);
    expect(more).to.have.length(0);
    for (const lost of answers.filter((answer) => answer !== won)) {
      expectError(lost, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 1, current_version: 2 });
    }
    expect(expectOk(await owner.api.get(`/v1/agents/${agent.id}`))).to.deep.equal(won?.body);
  });

  it("are 404 under an id that no column holds, and 422 under what is not digits", async () => {
    const path = (id: string) => `/v1/agents/${id}`;
    for (const id of ["0", "2147483647", "2147483648", "4294967297", "9007199254740993", "9".repeat(400)]) {
      expectError(await owner.api.get(path(id)), 404, "RESOURCE_NOT_FOUND", null);
      expectError(await owner.api.patch(path(id), {}, ifMatch(1)), 404, "RESOURCE_NOT_FOUND", null);
      expectError(await owner.api.delete(path(id), ifMatch(1)), 404, "RESOURCE_NOT_FOUND", null);
    }
    for (const id of ["abc", "-1", "+1", "1.0", "1e3", "0x1", "%201", "1%20", "%D9%A1", "%EF%BC%91", "1%00"]) {
      const expected = { location: "path", path: "agent_id" };
      expect(expectIssues(await owner.api.get(path(id)))[0], id).to.include(expected);
      expect(expectIssues(await owner.api.delete(path(id), ifMatch(1)))[0], id).to.include(expected);
    }
    const agent = await newAgent(owner);
    expect(expectOk(await owner.api.get(path(`000${agent.id}`)))).to.deep.equal(agent);
  });
});
