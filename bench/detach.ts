import { cpuMicros, databaseProcesses, processTree } from "./linux.js";
import { shortIdOf } from "./seed/short-id.js";
import { dropDatabases, type Setting, startTarget, type Target } from "./targets.js";

/** What it took to deactivate an agent that many QR codes are bound to. */
export interface Detachment {
  detached: number;
  milliseconds: number;
  serverMs: number;
  databaseMs: number;
}

const BOUND = 10_000;
const SUFFIX = "_detach";
const ATTACHING_AT_ONCE = 16;

/** Sends a JSON request with the target's first key; throws for anything but 200. */
async function call<T>(
  target: Target,
  method: string,
  path: string,
  version: number | null,
  body?: object,
): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${target.server.port}${path}`, {
    method,
    headers: {
      "X-API-Key": target.keys[0] ?? "",
      ...(version !== null && { "If-Match-Version": String(version) }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

async function attachAll(target: Target, agentId: number): Promise<void> {
  let next = 0;
  const attach = async () => {
    while (next < BOUND) {
      const path = `/v1/qr/${shortIdOf(0, next++)}/agent`;
      await call(target, "PUT", path, 1, { agent_id: agentId });
    }
  };
  await Promise.all(Array.from({ length: ATTACHING_AT_ONCE }, attach));
}

async function timeDeactivation(target: Target, agentId: number): Promise<Detachment> {
  const server = processTree(target.server.pid);
  const database = databaseProcesses();
  const before = { server: cpuMicros(server), database: cpuMicros(database), time: performance.now() };
  const path = `/v1/agents/${agentId}`;
  const answer = await call<{ detached_qr_count: number }>(target, "DELETE", path, 1);
  return {
    detached: answer.detached_qr_count,
    milliseconds: performance.now() - before.time,
    serverMs: (cpuMicros(server) - before.server) / 1000,
    databaseMs: (cpuMicros(database) - before.database) / 1000,
  };
}

/** Binds 10,000 QR codes of the gateway to one agent over the API, and times the one request that detaches them all. */
export async function detachMany(setting: Omit<Setting, "rows" | "owners" | "suffix">): Promise<Detachment> {
  // Bindings count their versions up: only fresh rows are all at 1.
  await dropDatabases(SUFFIX);
  const target = await startTarget("gateway", { ...setting, rows: BOUND, owners: 1, suffix: SUFFIX });
  try {
    const agent = await call<{ id: number }>(target, "POST", "/v1/agents", null, { name: "Concierge" });
    await attachAll(target, agent.id);
    return await timeDeactivation(target, agent.id);
  } finally {
    await target.server.stop();
  }
}
