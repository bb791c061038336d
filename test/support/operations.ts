import { expect } from "chai";
import { appRouter } from "../../routers/index.js";
import { endpointsOf, type Endpoint } from "../../src/procedures.js";
import type { RunningGateway } from "./backends.js";
import { type Answer, type Sent, send } from "./http.js";
import { newAgent, newQr, type TestOwner } from "./owners.js";

/** Every procedure. */
export const procedures: Endpoint[] = [...endpointsOf(appRouter).values()];

/** Every operation with a `/v1` path. */
export const operations = procedures.filter((endpoint) => endpoint.isPublic);

/** One call, in the terms that REST and tRPC share. */
export interface Call {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean>;
  body?: object;
  version?: number;
}

let references = 0;
const reference = () => `reference ${process.pid}/${++references}`;

const ofQr = async (owner: TestOwner, version?: number): Promise<Call> => {
  const { short_id } = await newQr(owner);
  return { path: { short_id }, ...(version === undefined ? {} : { version }) };
};

const ofAgent = async (owner: TestOwner, version?: number): Promise<Call> => {
  const { id } = await newAgent(owner);
  return { path: { agent_id: id }, ...(version === undefined ? {} : { version }) };
};

const ofQrReference = async (owner: TestOwner): Promise<Call> => {
  const { external_reference } = await newQr(owner, { external_reference: reference() });
  return { path: { external_reference } };
};

/** For every procedure, a call that succeeds, on resources made for it alone. */
export const SUCCESSES: Record<string, (owner: TestOwner) => Promise<Call>> = {
  "capabilities.get": async () => ({}),
  "qr.create": async () => ({ body: { name: "Front door", property_context: { floor: 1 } } }),
  "qr.list": async () => ({ query: { limit: 5, offset: 0 } }),
  "qr.get": (owner) => ofQr(owner),
  "qr.getByExternalReference": ofQrReference,
  "qr.readiness": ofQrReference,
  "qr.update": async (owner) => ({ ...(await ofQr(owner, 1)), body: { name: "Back door", description: null } }),
  "qr.delete": (owner) => ofQr(owner, 1),
  "paywall.get": (owner) => ofQr(owner),
  "paywall.replace": async (owner) => ({
    ...(await ofQr(owner)),
    body: { paywall_enabled: true, paywall_price_cents: 250, paywall_currency: "EUR" },
  }),
  "agents.create": async () => ({ body: { name: "Concierge", external_reference: reference() } }),
  "agents.list": async () => ({ query: { include_inactive: true, limit: 5, offset: 0 } }),
  "agents.get": (owner) => ofAgent(owner),
  "agents.getByExternalReference": async (owner) => {
    const { external_reference } = await newAgent(owner, { external_reference: reference() });
    return { path: { external_reference } };
  },
  "agents.update": async (owner) => ({ ...(await ofAgent(owner, 1)), body: { name: "Porter", tools: "[]" } }),
  "agents.deactivate": (owner) => ofAgent(owner, 1),
  "agents.greetingAudio": (owner) => ofAgent(owner),
  "bindings.get": (owner) => ofQr(owner),
  "bindings.attach": async (owner) => {
    const { id } = await newAgent(owner);
    return { ...(await ofQr(owner, 1)), body: { agent_id: id, override: { voice_name: "Kore" } } };
  },
  "bindings.detach": (owner) => ofQr(owner, 1),
};

/** A call of an operation that succeeds; fails where none is written down. */
export function successOf(owner: TestOwner, { name }: Endpoint): Promise<Call> {
  const make = SUCCESSES[name];
  if (make === undefined) throw new Error(`${name} has no entry in SUCCESSES of test/support/operations.ts.`);
  return make(owner);
}

/** Whether an operation takes a body. */
export const takesBody = ({ operation }: Endpoint) => ["POST", "PUT", "PATCH"].includes(operation.method);

const UNKNOWN: Record<string, string> = { agent_id: "2147483000" };

/** A call that is well-formed, on resources that do not exist. */
export function blindCall(endpoint: Endpoint): Call {
  const { pathParameters, versioned } = endpoint.operation;
  return {
    path: Object.fromEntries(pathParameters.map((name) => [name, UNKNOWN[name] ?? "k3WdP9xTqa"])),
    ...(versioned ? { version: 1 } : {}),
    ...(takesBody(endpoint) ? { body: {} } : {}),
  };
}

/** The path of an operation, its parameters filled in. */
export function pathOf({ operation }: Endpoint, { path, query }: Call): string {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(path?.[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) search.set(name, String(value));
  return search.size === 0 ? filled : `${filled}?${search.toString()}`;
}

type Headers = Record<string, string | string[]>;

/** A call as REST sends it, without key. */
function restRequest(endpoint: Endpoint, call: Call): Sent & { headers: Headers } {
  const headers: Headers = {};
  if (call.body !== undefined) headers["Content-Type"] = "application/json";
  if (call.version !== undefined) headers["If-Match-Version"] = String(call.version);
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  return { method: endpoint.operation.method, path: pathOf(endpoint, call), headers, body };
}

/** A call as tRPC takes it. */
export function trpcInput(endpoint: Endpoint, { path, query, body, version }: Call): Record<string, unknown> {
  const ids = Object.entries(path ?? {}).map(([name, value]) => [name, name === "agent_id" ? Number(value) : value]);
  const versions = endpoint.operation.versioned && version !== undefined ? { if_match_version: version } : {};
  return { ...Object.fromEntries(ids), ...query, ...body, ...versions };
}

/** Sends a call over REST, with headers and the parts of the request replaced as asked. */
export function callRest(
  owner: { key?: string; running: RunningGateway },
  endpoint: Endpoint,
  call: Call,
  headers: Headers = {},
  changed: Partial<Sent> = {},
): Promise<Answer> {
  const request = restRequest(endpoint, call);
  const key: Headers = owner.key === undefined ? {} : { "X-API-Key": owner.key };
  return send(owner.running.url, { ...request, ...changed, headers: { ...key, ...request.headers, ...headers } });
}

/** Checks each of the operations; a failure names the one it happened on. */
export async function onEach(endpoints: readonly Endpoint[], check: (endpoint: Endpoint) => Promise<unknown>) {
  expect(endpoints).to.not.be.empty;
  for (const endpoint of endpoints) {
    try {
      await check(endpoint);
    } catch (error) {
      if (error instanceof Error)
        error.message = `${endpoint.operation.method} ${endpoint.operation.path}: ${error.message}`;
      throw error;
    }
  }
}
