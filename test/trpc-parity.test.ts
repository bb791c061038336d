import { httpBatchLink, httpLink, type TRPCClientError } from "@trpc/client";
import { expect } from "chai";
import type { AppRouter } from "../routers/index.js";
import type { ErrorCode } from "../src/errors.js";
import type { Endpoint } from "../src/procedures.js";
import { type BackendName, onEachBackend } from "./support/backends.js";
import { expectOk } from "./support/http.js";
import { blindCall, type Call, onEach, operations, procedures, successOf, takesBody } from "./support/operations.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import {
  type Caller,
  type Outcome,
  steady,
  storedOf,
  type Transport,
  TRANSPORTS,
  trpcClient,
} from "./support/transports.js";

/** One way for an operation to fail: what to change of the call that succeeds, or of who makes it. */
interface Failure {
  code: ErrorCode;
  call?: (call: Call, owner: TestOwner) => Call | Promise<Call>;
  caller?: (owner: TestOwner) => Caller | Promise<Caller>;
}

const withBody = (code: ErrorCode, body: object): Failure => ({
  code,
  call: (call) => ({ ...call, body: { ...call.body, ...body } }),
});
const withQuery = (query: Record<string, number>): Failure => ({
  code: "VALIDATION_FAILED",
  call: (call) => ({ ...call, query: { ...call.query, ...query } }),
});
const taken = (make: typeof newQr): Failure => ({
  code: "EXTERNAL_REFERENCE_CONFLICT",
  call: async (call, owner) => {
    await make(owner, { external_reference: "taken" });
    return { ...call, body: { external_reference: "taken", name: "x" } };
  },
});
const withAgent = (code: ErrorCode, make: (owner: TestOwner) => Promise<{ id: number }>): Failure => ({
  code,
  call: async (call, owner) => ({ ...call, body: { agent_id: (await make(owner)).id } }),
});

/** The failures of each procedure that its clauses do not already say. */
const FAILURES: Record<string, Failure[]> = {
  "capabilities.get": [withQuery({ unknown: 1 })],
  "qr.create": [withBody("VALIDATION_FAILED", { name: 1, is_active: "no", destination_url: "x" }), taken(newQr)],
  "qr.list": [withQuery({ limit: 101 }), withQuery({ limit: 0, offset: 0.5 })],
  "qr.get": [
    {
      code: "RESOURCE_NOT_FOUND",
      call: async (_call, owner) => ({ path: { short_id: (await newQr(owner, { is_active: false })).short_id } }),
    },
  ],
  "qr.getByExternalReference": [],
  "qr.readiness": [],
  "qr.update": [withBody("VALIDATION_FAILED", { name: "", property_context: [] }), taken(newQr)],
  "qr.delete": [],
  "paywall.get": [],
  "paywall.replace": [
    withBody("VALIDATION_FAILED", { paywall_currency: "zzz", paywall_price_cents: -1 }),
    withBody("VALIDATION_FAILED", { paywall_enabled: null }),
  ],
  "agents.create": [withBody("VALIDATION_FAILED", { name: null, voice_name: "" }), taken(newAgent)],
  "agents.list": [withQuery({ limit: 101 }), withQuery({ offset: -1 })],
  "agents.get": [],
  "agents.getByExternalReference": [],
  "agents.update": [withBody("VALIDATION_FAILED", { name: "", model: 1, external_reference: "x" })],
  "agents.deactivate": [],
  "agents.greetingAudio": [
    { code: "RESOURCE_NOT_FOUND", call: () => ({ path: { agent_id: 2_147_483_000 } }) },
    { code: "VALIDATION_FAILED", call: () => ({}) },
    withQuery({ unknown: 1 }),
  ],
  "bindings.get": [],
  "bindings.attach": [
    withBody("VALIDATION_FAILED", { agent_id: "1", override: { voice_name: 1, unknown: 1 } }),
    withAgent("BINDING_TARGET_INACTIVE", (owner) => newAgent(owner, { is_active: false })),
    withAgent("RESOURCE_NOT_FOUND", async ({ running }) => newAgent(await newOwner(running))),
    withAgent("RESOURCE_NOT_FOUND", async () => ({ id: 2_147_483_000 })),
  ],
  "bindings.detach": [],
};

/** The failures that an operation's clauses say. */
function clauseFailures(endpoint: Endpoint): Failure[] {
  const { scopes, versioned, pathParameters } = endpoint.operation;
  const failures: Failure[] = [
    { code: "AUTHENTICATION_REQUIRED", caller: ({ running }) => ({ running }) },
    { code: "API_KEY_INVALID", caller: ({ running }) => ({ running, key: "qrv_none" }) },
  ];
  if (scopes.length > 0) {
    failures.push({ code: "INSUFFICIENT_SCOPE", caller: ({ running, name }) => newOwner(running, [], name) });
  }
  if (versioned) {
    failures.push({ code: "RESOURCE_VERSION_REQUIRED", call: ({ version: _version, ...call }) => call });
    failures.push({ code: "RESOURCE_VERSION_CONFLICT", call: (call) => ({ ...call, version: 7 }) });
    failures.push({ code: "VALIDATION_FAILED", call: (call) => ({ ...call, version: 0 }) });
  }
  if (pathParameters.length > 0) {
    const another = async ({ path: _path, ...call }: Call, { running }: TestOwner) => {
      const { path } = await successOf(await newOwner(running), endpoint);
      return { ...call, ...(path ? { path } : {}) };
    };
    failures.push({ code: "RESOURCE_NOT_FOUND", call: another });
    failures.push({ code: "RESOURCE_NOT_FOUND", call: (call) => ({ ...call, path: blindCall(endpoint).path ?? {} }) });
  }
  if (takesBody(endpoint)) failures.push(withBody("VALIDATION_FAILED", { unknown: 1, toString: 2 }));
  return failures;
}

/** A failure's outcome without wording that tells where a caller of this transport is to send what. */
function comparable({ result, error, retryAfter }: Outcome): unknown {
  if (error === undefined) return { result: steady(result) };
  const issues = (error.details as { issues?: { location: string; path: string }[] } | null)?.issues;
  const details = issues ? issues.map(({ location, path }) => `${location} ${path}`).toSorted() : error.details;
  return { code: error.code, message: error.message, details, retryAfter };
}

/** REST carries only what has a path. */
const transportsOf = (endpoint: Endpoint) => Object.values(TRANSPORTS).slice(endpoint.isPublic ? 0 : 1);

async function run(backend: BackendName, transport: Transport, endpoint: Endpoint, failure?: Failure) {
  const owner = await newOwner(backend);
  const success = await successOf(owner, endpoint);
  const call = (await failure?.call?.(success, owner)) ?? success;
  const before = await storedOf(owner);
  const outcome = await transport((await failure?.caller?.(owner)) ?? owner, endpoint, call);
  return { outcome: comparable(outcome), code: outcome.error?.code, before, after: await storedOf(owner) };
}

describe("The parity table", () => {
  it("names every procedure, and none that is not there", () => {
    expect(Object.keys(FAILURES)).to.have.members(procedures.map(({ name }) => name));
  });
});

onEachBackend("REST and tRPC", (backend) => {
  for (const endpoint of procedures) {
    it(`agree on ${endpoint.name}: results, errors, details, and what is stored`, async () => {
      for (const failure of [undefined, ...clauseFailures(endpoint), ...(FAILURES[endpoint.name] ?? [])]) {
        const [rest, ...others] = await Promise.all(
          transportsOf(endpoint).map((transport) => run(backend, transport, endpoint, failure)),
        );
        expect(rest?.code).to.equal(failure?.code);
        if (failure) expect(rest?.after).to.deep.equal(rest?.before);
        else expect(rest!.after.audit.length - rest!.before.audit.length).to.equal(endpoint.operation.audited ? 1 : 0);
        for (const other of others) expect(other).to.deep.equal(rest);
      }
    });
  }

  it("share one space of idempotency keys", async () => {
    await onEach(
      operations.filter(({ operation }) => operation.idempotent),
      async (endpoint) => {
        for (const [first, ...others] of [Object.values(TRANSPORTS), Object.values(TRANSPORTS).reverse()]) {
          const owner = await newOwner(backend);
          const call = await successOf(owner, endpoint);
          const made = await first!(owner, endpoint, call, "shared");
          const stored = await storedOf(owner);
          expect(made.error).to.equal(undefined);
          for (const other of others) {
            expect(await other(owner, endpoint, call, "shared")).to.deep.equal(made);
            const different = call.version ? { ...call, version: 5 } : { ...call, body: { name: "different" } };
            const refused = await other(owner, endpoint, different, "shared");
            expect(refused.error?.code).to.equal("IDEMPOTENCY_CONFLICT");
            expect(refused.retryAfter).to.equal(1);
          }
          expect(await storedOf(owner)).to.deep.equal(stored);
        }
      },
    );
  });

  it("give a typed client the wire's own types, and make it send a version", async () => {
    const owner = await newOwner(backend);
    for (const client of [trpcClient(owner, httpLink), trpcClient(owner, httpBatchLink)]) {
      const qr = await client.qr.create.mutate({ name: "typed" });
      const { resource_version: version } = await client.qr.update.mutate({
        ...pick(qr),
        name: null,
        if_match_version: 1,
      });
      expect(version).to.equal(2);
      // @ts-expect-error -- leaving out the version does not compile
      const unversioned = client.qr.delete.mutate(pick(qr));
      const refused: unknown = await unversioned.catch((error: unknown) => error);
      expect((refused as TRPCClientError<AppRouter>).data?.error.code).to.equal("RESOURCE_VERSION_REQUIRED");
      expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`)).name).to.equal(null);
    }
  });
});

const pick = ({ short_id }: { short_id: string }) => ({ short_id });
