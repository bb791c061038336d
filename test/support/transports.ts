import { createTRPCClient, getUntypedClient, httpBatchLink, httpLink, TRPCClientError } from "@trpc/client";
import type { AppRouter } from "../../routers/index.js";
import type { Endpoint } from "../../src/procedures.js";
import type { RunningGateway } from "./backends.js";
import { query } from "./backends.js";
import { type Call, callRest, trpcInput } from "./operations.js";
import type { TestOwner } from "./owners.js";

/** What a call came to, whatever carried it: a result, or an error without its request id. */
export interface Outcome {
  result?: unknown;
  error?: { code: string; message: string; details: unknown };
  retryAfter?: number;
}

/** Who calls; without key where there is none. */
export interface Caller {
  key?: string;
  running: RunningGateway;
}

/** A way to call an operation. */
export type Transport = (caller: Caller, endpoint: Endpoint, call: Call, idempotencyKey?: string) => Promise<Outcome>;

const retry = (seconds: number | undefined) => (seconds === undefined ? {} : { retryAfter: seconds });

const overRest: Transport = async (caller, endpoint, call, key) => {
  const answer = await callRest(caller, endpoint, call, key === undefined ? {} : { "Idempotency-Key": key });
  if (answer.status === 200) return { result: answer.body };
  const { request_id: _id, ...error } = answer.body.error;
  const sent = answer.headers["retry-after"];
  return { error, ...retry(sent === undefined ? undefined : Number(sent)) };
};

/** A client as an internal app makes one. */
export function trpcClient({ key, running }: Caller, link: typeof httpLink | typeof httpBatchLink) {
  const headers = key === undefined ? {} : { "x-api-key": key };
  return createTRPCClient<AppRouter>({ links: [link({ url: `${running.url}/trpc`, headers })] });
}

const overTrpc =
  (link: typeof httpLink | typeof httpBatchLink): Transport =>
  async (caller, endpoint, call, key) => {
    const client = getUntypedClient(trpcClient(caller, link));
    const input = { ...trpcInput(endpoint, call), ...(key === undefined ? {} : { idempotency_key: key }) };
    try {
      return { result: await client[endpoint.type](endpoint.name, input) };
    } catch (thrown) {
      if (!(thrown instanceof TRPCClientError)) throw thrown;
      const { data } = thrown as TRPCClientError<AppRouter>;
      if (!data) throw thrown;
      const { request_id: _id, ...error } = data.error;
      return { error, ...retry("retry_after" in data ? data.retry_after : undefined) };
    }
  };

/** Every transport, REST first. */
export const TRANSPORTS: Record<string, Transport> = {
  REST: overRest,
  httpLink: overTrpc(httpLink),
  httpBatchLink: overTrpc(httpBatchLink),
};

const VOLATILE =
  /^(id|short_?id|scan_?url|owner_?id|agent_?id|key_?id|request_?id|resource_?id|external_reference.*|binding_marker|.*_at)$/;

/** A value with what differs from one run to the next replaced by whether it is there. */
export function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    VOLATILE.test(name) ? typeof member === "object" && member === null : steady(member),
  ]);
  return Object.fromEntries(entries);
}

/** Rows of each table. */
interface Stored {
  qr: unknown[];
  agents: unknown[];
  audit: unknown[];
}

/** All that is stored of an owner, and the audit of it. */
export async function storedOf({ name, running }: TestOwner): Promise<Stored> {
  const [owner] = await query<{ id: number }>(running, "SELECT id FROM owners WHERE name = ?", [name]);
  const rows = (table: string) => query(running, `SELECT * FROM ${table} WHERE owner_id = ? ORDER BY id`, [owner?.id]);
  const [qr, agents, audit] = [await rows("qr_codes"), await rows("agents"), await rows("audit_events")];
  return steady({ qr, agents, audit }) as Stored;
}
