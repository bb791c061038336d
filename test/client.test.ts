import { expect } from "chai";
import { createGateway, type Gateway, isGatewayError, updateWithLatest } from "../client/index.js";
import { onEachBackend } from "./support/backends.js";
import { type FaultyProxy, startFaultyProxy } from "./support/faulty-proxy.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

onEachBackend("client", (backend) => {
  let owner: TestOwner;
  let proxy: FaultyProxy;
  let gateway: Gateway;
  const quick = { baseMs: 5 };

  beforeEach(async () => {
    owner = await newOwner(backend);
    proxy = await startFaultyProxy(owner.running.url);
    gateway = createGateway({ url: `${proxy.url}/`, apiKey: owner.key, retry: quick });
  });
  afterEach(() => proxy.stop());

  const codes = () => gateway.qr.list.query({ limit: 100 });

  it("sends calls of one tick together, at most 20 to a request, each request with its own id", async () => {
    const made = await Promise.all(Array.from({ length: 45 }, (_, n) => gateway.qr.create.mutate({ name: `qr ${n}` })));
    expect(made.map(({ name }) => name)).to.deep.equal(Array.from({ length: 45 }, (_, n) => `qr ${n}`));
    expect(proxy.seen.map(({ path }) => path.split(",").length)).to.deep.equal([20, 20, 5]);
    expect(new Set(proxy.seen.map(({ headers }) => headers["x-request-id"])).size).to.equal(3);
  });

  it("keeps its connection open between requests", async () => {
    for (let n = 0; n < 10; n++) await codes();
    expect(proxy.seen).to.have.length(10);
    expect(proxy.connections).to.equal(1);
  });

  it("asks for the key before each request, and passes the caller's request ids on", async () => {
    const keys = ["qrv_wrong", owner.key];
    const rotating = createGateway({
      url: proxy.url,
      apiKey: () => Promise.resolve(keys.shift() as string),
      requestId: () => "app-42",
    });
    const refused = await failureOf(rotating.capabilities.get.query({}));
    expect(isGatewayError(refused, "API_KEY_INVALID") && refused.data.error.request_id).to.equal("app-42");
    expect((await rotating.capabilities.get.query({})).api_version).to.equal("v1");
  });

  it("creates once, whatever happens to the answer", async () => {
    proxy.faults.push("lose the answer", "refuse", { status: 502 });
    const made = await gateway.qr.create.mutate({ name: "Once" });
    expect(proxy.seen).to.have.length(4);
    const keys = proxy.seen.map(({ body }) => JSON.parse(body)[0].idempotency_key);
    expect(new Set(keys).size).to.equal(1);
    expect(await codes()).to.deep.equal([made]);
  });

  it("attaches and detaches once, each call with its own key, the caller's where there is one", async () => {
    const [qr, agent] = [await newQr(owner), await newAgent(owner)];
    proxy.faults.push("lose the answer");
    const attached = await gateway.bindings.attach.mutate({
      short_id: qr.short_id,
      if_match_version: 1,
      agent_id: agent.id,
      idempotency_key: "mine",
    });
    expect(attached.binding_version).to.equal(2);
    proxy.faults.push("lose the answer");
    const detached = await gateway.bindings.detach.mutate({ short_id: qr.short_id, if_match_version: 2 });
    expect([detached.binding_version, detached.agent]).to.deep.equal([3, null]);
    const [a, b, c, d] = proxy.seen.map(({ body }) => JSON.parse(body)[0].idempotency_key);
    expect([a, b]).to.deep.equal(["mine", "mine"]);
    expect(c).to.equal(d).and.not.equal("mine");
  });

  it("never sends a mutation without a key twice", async () => {
    const qr = await newQr(owner);
    proxy.faults.push("lose the answer");
    const lost = await failureOf(
      gateway.qr.update.mutate({ short_id: qr.short_id, if_match_version: 1, name: "Lost?" }),
    );
    expect(lost).to.be.instanceOf(Error);
    expect(isGatewayError(lost)).to.equal(false);
    expect(proxy.seen).to.have.length(1);
    expect((await gateway.qr.get.query({ short_id: qr.short_id })).resource_version).to.equal(2);
  });

  it("waits for as long as Retry-After says, and not at all for longer than it may", async () => {
    proxy.faults.push({ status: 503, headers: { "Retry-After": "1" } });
    await codes();
    const [first, second] = proxy.seen;
    expect(second!.at - first!.at).to.be.at.least(990);
    proxy.faults.push({ status: 503, headers: { "Retry-After": "3600" } });
    expect(await failureOf(codes())).to.be.instanceOf(Error);
    expect(proxy.seen).to.have.length(3);
  });

  it("repeats a mutation without a key only where the gateway says that nothing was done", async () => {
    const qr = await newQr(owner);
    const unavailable = (retryAfter?: number) => {
      const failure = { code: "SERVICE_UNAVAILABLE", message: "Later.", request_id: "r", details: null };
      const data = { code: "INTERNAL_SERVER_ERROR", httpStatus: 500, error: failure, retry_after: retryAfter };
      const body = JSON.stringify([{ error: { message: "Later.", code: -32_603, data } }]);
      return { status: 500, headers: { "Content-Type": "application/json; charset=utf-8" }, body };
    };
    const update = (version: number) => gateway.qr.update.mutate({ short_id: qr.short_id, if_match_version: version });
    proxy.faults.push(unavailable(1));
    expect((await update(1)).resource_version).to.equal(2);
    expect(proxy.seen).to.have.length(2);
    proxy.faults.push(unavailable());
    expect(isGatewayError(await failureOf(update(2)), "SERVICE_UNAVAILABLE")).to.equal(true);
    expect(proxy.seen).to.have.length(3);
  });

  it("gives up after its attempts, and at once where it was told not to retry", async () => {
    proxy.faults.push("refuse", "refuse", "refuse", "refuse");
    expect(await failureOf(codes())).to.be.instanceOf(Error);
    expect(proxy.seen).to.have.length(4);
    proxy.faults.push("refuse");
    const once = createGateway({ url: proxy.url, apiKey: owner.key, retry: false });
    expect(await failureOf(once.qr.list.query({}))).to.be.instanceOf(Error);
    expect(proxy.seen).to.have.length(5);
  });

  it("repeats no refusal: of the gateway, or of what stands in front of it", async () => {
    const missing = await failureOf(gateway.qr.get.query({ short_id: "nothere" }));
    expect(isGatewayError(missing, "RESOURCE_NOT_FOUND")).to.equal(true);
    proxy.faults.push({ status: 403 });
    expect(await failureOf(codes())).to.be.instanceOf(Error);
    expect(proxy.seen).to.have.length(2);
  });

  it("stops waiting when it is aborted", async () => {
    proxy.faults.push({ status: 503, headers: { "Retry-After": "5" } });
    const started = performance.now();
    const call = failureOf(gateway.qr.list.query({}, { signal: AbortSignal.timeout(100) }));
    expect(await call).to.be.instanceOf(Error);
    expect(performance.now() - started).to.be.below(2000);
    expect(proxy.seen).to.have.length(1);
  });

  it("tells failures apart, with their details", async () => {
    const qr = await newQr(owner);
    const update = (name: string) => gateway.qr.update.mutate({ short_id: qr.short_id, if_match_version: 7, name });
    const conflict = await failureOf(update("x"));
    if (!isGatewayError(conflict, "RESOURCE_VERSION_CONFLICT")) throw conflict;
    const { details } = conflict.data.error;
    expect([details.expected_version, details.current_version]).to.deep.equal([7, 1]);
    const invalid = await failureOf(update(""));
    if (!isGatewayError(invalid, "VALIDATION_FAILED", "INSUFFICIENT_SCOPE")) throw invalid;
    expect("issues" in invalid.data.error.details && invalid.data.error.details.issues[0]?.path).to.equal("name");
    expect(isGatewayError(invalid, "RESOURCE_VERSION_CONFLICT")).to.equal(false);
    expect(isGatewayError(new Error("other"))).to.equal(false);
  });

  it("updates on the latest version, however many do so at once", async () => {
    const qr = await newQr(owner, { name: "0" });
    const increment = () =>
      updateWithLatest(
        () => gateway.qr.get.query({ short_id: qr.short_id }),
        (latest) =>
          gateway.qr.update.mutate({
            short_id: latest.short_id,
            if_match_version: latest.resource_version,
            name: String(Number(latest.name) + 1),
          }),
        { attempts: 50 },
      );
    await Promise.all(Array.from({ length: 10 }, increment));
    const { name, resource_version } = await gateway.qr.get.query({ short_id: qr.short_id });
    expect([name, resource_version]).to.deep.equal(["10", 11]);
  });

  it("hands the conflict on when its attempts are spent, and other failures at once", async () => {
    const qr = await newQr(owner);
    let reads = 0;
    const stale = async () => ({ read: ++reads });
    const change = () => gateway.qr.update.mutate({ short_id: qr.short_id, if_match_version: 9 });
    const spent = await failureOf(updateWithLatest(stale, change, { attempts: 3 }));
    expect([isGatewayError(spent, "RESOURCE_VERSION_CONFLICT"), reads]).to.deep.equal([true, 3]);
    const gone = () => gateway.qr.update.mutate({ short_id: "gone", if_match_version: 9 });
    expect(isGatewayError(await failureOf(updateWithLatest(stale, gone)), "RESOURCE_NOT_FOUND")).to.equal(true);
    expect(reads).to.equal(4);
  });
});
