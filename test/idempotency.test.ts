import { expect } from "chai";
import { type BackendName, onEachBackend } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch, keyed } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

let made = 0;
const newKey = () => `key-${process.pid}-${++made}`;

interface Keyed {
  name: string;
  send: (key: string, requestId: string) => Promise<Answer>;
}

/** The four idempotent operations, each on resources of its own. */
async function operations(owner: TestOwner): Promise<Keyed[]> {
  const { api } = owner;
  const agent = await newAgent(owner);
  const [attach, detach] = [await newQr(owner), await newQr(owner)];
  const headers = (key: string, requestId: string) => ({ ...keyed(key), "X-Request-ID": requestId });
  return [
    { name: "qr.create", send: (key, id) => api.post("/v1/qr", { name: "Tür ✨" }, headers(key, id)) },
    { name: "agents.create", send: (key, id) => api.post("/v1/agents", { name: "Ana" }, headers(key, id)) },
    {
      name: "bindings.attach",
      send: (key, id) =>
        api.put(`/v1/qr/${attach.short_id}/agent`, { agent_id: agent.id }, { ...headers(key, id), ...ifMatch(1) }),
    },
    {
      name: "bindings.detach",
      send: (key, id) => api.delete(`/v1/qr/${detach.short_id}/agent`, { ...headers(key, id), ...ifMatch(1) }),
    },
  ];
}

function expectReplay(first: Answer, again: Answer): void {
  expectOk(first);
  expect(first.headers["idempotency-replayed"]).to.equal(undefined);
  expect(again.status, again.text).to.equal(200);
  expect(again.text).to.equal(first.text);
  expect(again.headers["idempotency-replayed"]).to.equal("true");
}

function expectConflict(answer: Answer): void {
  expectError(answer, 409, "IDEMPOTENCY_CONFLICT", null);
  expect(answer.headers["retry-after"]).to.match(/^[1-9]\d*$/);
}

onEachBackend("Idempotency", (backend: BackendName) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  it("replays byte for byte, marked, under each request's own id, on all four operations", async () => {
    for (const { name, send } of await operations(owner)) {
      const key = newKey();
      const first = await send(key, `${name}.first`);
      const again = await send(key, `${name}.again`);
      expectReplay(first, again);
      expect(first.headers["x-request-id"]).to.equal(`${name}.first`);
      expect(again.headers["x-request-id"]).to.equal(`${name}.again`);
    }
  });

  it("replays after the version has moved on and after the resource is gone", async () => {
    const { api } = owner;
    const [agent, qr, key] = [await newAgent(owner), await newQr(owner), newKey()];
    const path = `/v1/qr/${qr.short_id}`;
    const attach = () => api.put(`${path}/agent`, { agent_id: agent.id }, { ...keyed(key), ...ifMatch(1) });
    const first = await attach();
    expectOk(await api.delete(`${path}/agent`, ifMatch(2)));
    expectReplay(first, await attach());
    expectOk(await api.delete(path, ifMatch(1)));
    expectReplay(first, await attach());
    expect(expectOk(await api.get(`/v1/agents/${agent.id}`)).is_active).to.equal(true);
  });

  it("refuses the key for another body, path, version or operation", async () => {
    const { api } = owner;
    const [agent, one, other, key] = [await newAgent(owner), await newQr(owner), await newQr(owner), newKey()];
    const attach = (shortId: string, version: number, body: object) =>
      api.put(`/v1/qr/${shortId}/agent`, body, { ...keyed(key), ...ifMatch(version) });
    const body = { agent_id: agent.id };
    expectOk(await attach(one.short_id, 1, body));
    expectConflict(await attach(one.short_id, 1, { ...body, override: null }));
    expectConflict(await attach(other.short_id, 1, body));
    expectConflict(await attach(one.short_id, 2, body));
    expectConflict(await api.delete(`/v1/qr/${one.short_id}/agent`, { ...keyed(key), ...ifMatch(2) }));
    expectConflict(await api.post("/v1/qr", {}, keyed(key)));
    expectConflict(await api.post("/v1/agents", { name: "x" }, keyed(key)));
    expect(expectOk(await api.get(`/v1/qr/${other.short_id}/agent`)).binding_version).to.equal(1);
  });

  it("keeps keys per owner: two keys of one owner share them, another owner's are another's", async () => {
    const key = newKey();
    const [colleague, stranger] = [
      await newOwner(backend, undefined, owner.name),
      await newOwner(backend, ["qr:write", "qr:read"]),
    ];
    const create = ({ api }: TestOwner, body: object) => api.post("/v1/qr", body, keyed(key));
    const first = await create(owner, { name: "a" });
    expectReplay(first, await create(colleague, { name: "a" }));
    const theirs = expectOk(await create(stranger, { name: "b" }));
    expect(theirs.short_id).not.to.equal(first.body.short_id);
    expectReplay(first, await create(owner, { name: "a" }));
  });

  it("gives the key back after every failure, so that the corrected request goes through", async () => {
    const { api } = owner;
    const [agent, qr, key] = [await newAgent(owner), await newQr(owner), newKey()];
    const attach = (version: string, body: object) =>
      api.put(`/v1/qr/${qr.short_id}/agent`, body, { ...keyed(key), "If-Match-Version": version });
    expectError(await attach("1", { agent_id: "x" }), 422, "VALIDATION_FAILED");
    expectError(await attach("1", { agent_id: 999_999_999 }), 404, "RESOURCE_NOT_FOUND");
    expectError(await attach("7", { agent_id: agent.id }), 409, "RESOURCE_VERSION_CONFLICT");
    const inactive = await newAgent(owner, { is_active: false });
    expectError(await attach("1", { agent_id: inactive.id }), 409, "BINDING_TARGET_INACTIVE");
    expectReplay(await attach("1", { agent_id: agent.id }), await attach("1", { agent_id: agent.id }));
  });

  it("sends Retry-After with every 409 of an idempotent operation", async () => {
    const reference = newKey();
    await newQr(owner, { external_reference: reference });
    const taken = await owner.api.post("/v1/qr", { external_reference: reference }, keyed(newKey()));
    expectError(taken, 409, "EXTERNAL_REFERENCE_CONFLICT");
    expect(taken.headers["retry-after"]).to.equal("1");
  });

  it("takes the request as sent: defaults count as a difference, member order and whitespace do not", async () => {
    const { api } = owner;
    const key = newKey();
    const first = await api.post("/v1/qr", `{"name":"a","property_context":{"x":1,"y":[1.0]}}`, keyed(key));
    const same = ` {\n"property_context" : {"y":[1],"x":1e0}, "name":"\\u0061"}`;
    expectReplay(first, await api.post("/v1/qr", same, keyed(key)));
    const bare = newKey();
    expectOk(await api.post("/v1/qr", {}, keyed(bare)));
    expectConflict(await api.post("/v1/qr", { is_active: true }, keyed(bare)));
    expectConflict(await api.post("/v1/qr", { name: null }, keyed(bare)));
  });

  it("shares one key space between REST and tRPC", async () => {
    const { api } = owner;
    const qr = await newQr(owner);
    const agent = await newAgent(owner);
    const [create, attach, detach] = [newKey(), newKey(), newKey()];
    const path = `/v1/qr/${qr.short_id}/agent`;
    const trpc = (name: string, input: object) => api.post(`/trpc/${name}`, input);

    const overRest = await api.post("/v1/qr", { name: "a" }, keyed(create));
    const overTrpc = await trpc("qr.create", { idempotency_key: create, name: "a" });
    expect(overTrpc.text).to.equal(`{"result":{"data":${overRest.text}}}`);
    expect(overTrpc.headers["idempotency-replayed"]).to.equal("true");

    const input = { short_id: qr.short_id, if_match_version: 1, idempotency_key: attach, agent_id: agent.id };
    const attached = await trpc("bindings.attach", input);
    const again = await api.put(path, { agent_id: agent.id }, { ...keyed(attach), ...ifMatch(1) });
    expect(`{"result":{"data":${again.text}}}`).to.equal(attached.text);
    expect(again.headers["idempotency-replayed"]).to.equal("true");

    expectOk(await api.delete(path, { ...keyed(detach), ...ifMatch(2) }));
    const other = { short_id: qr.short_id, if_match_version: 2, idempotency_key: detach };
    expect((await trpc("bindings.detach", other)).headers["idempotency-replayed"]).to.equal("true");
    const refused = await trpc("bindings.detach", { ...other, if_match_version: 3 });
    expect(refused.body.error.data.error.code).to.equal("IDEMPOTENCY_CONFLICT");
    expect(refused.body.error.data.retry_after).to.be.at.least(1);
  });

  it("takes keys of 1 and of 128 characters, to the letter, and no others", async () => {
    const { api } = owner;
    const create = (key: string) => api.post("/v1/qr", {}, keyed(key));
    const long = newKey().padEnd(128, "A");
    expectReplay(await create(long), await create(long));
    expect((await create(long.toLowerCase())).headers["idempotency-replayed"]).to.equal(undefined);
    const single = ["a", "A", "0", ".", "_", ":", "-"];
    const answers = await Promise.all(single.map(create));
    expect(new Set(answers.map((answer) => expectOk(answer).short_id)).size).to.equal(single.length);
    for (const key of ["", `${long}A`, "a b", "ü", "a/b", "a,b"]) {
      expectError(await create(key), 422, "VALIDATION_FAILED");
    }
  });

  it("ignores the key where an operation is not idempotent", async () => {
    const { api } = owner;
    const qr = await newQr(owner);
    const key = newKey();
    for (const version of [1, 2]) {
      const answer = await api.patch(
        `/v1/qr/${qr.short_id}`,
        { name: "x" },
        { "Idempotency-Key": key, ...ifMatch(version) },
      );
      expect(expectOk(answer).resource_version).to.equal(version + 1);
    }
    expectOk(await api.post("/v1/qr", {}, keyed(key)));
  });
});
