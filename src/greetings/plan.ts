import type { Agent } from "../../entities/agent.js";
import type { Database } from "../database/sql.js";
import type { Override } from "../schemas/bindings.js";
import { agentTable } from "../services/agent-rows.js";
import type { SynthesisRequest } from "../speech/synthesizer.js";
import { changesGreeting, greetingDigest, greetingOf } from "./greeting.js";
import { type AudioState, listAudio } from "./store.js";

/** How many greetings one visit speaks; the rest of them wait for the next. */
const MAX_GREETINGS = 50;
const PAGE = 50;

const AGENT = `SELECT ${agentTable.select} FROM agents WHERE id = ?`;
/** In pages: an override may hold 64 KiB, and an agent may be bound to any number of codes. */
const OVERRIDES = `SELECT id, binding_override AS override FROM qr_codes
  WHERE agent_id = ? AND id > ? AND binding_override IS NOT NULL ORDER BY id LIMIT ${PAGE}`;
const OVERRIDE = "SELECT binding_override AS override FROM qr_codes WHERE id = ? AND agent_id = ?";

/** A greeting whose audio is to be made. */
export interface Missing {
  /** Whose greeting: the QR code with the override, or null for the agent's own. */
  qrId: number | null;
  greeting: SynthesisRequest;
  digest: Buffer;
  /** Attempts that failed. */
  attempts: number;
}

/** What there is to do for an agent, from its greetings as they stand and its audio. */
export interface Plan {
  missing: Missing[];
  /** Milliseconds until there is more to do; undefined where there is not. */
  dueMs: number | undefined;
  /** Audio of greetings that are no more. */
  superseded: Buffer[];
}

const soonest = (a: number | undefined, b: number) => (a === undefined ? b : Math.min(a, b));

async function findSpeaker(database: Database, agentId: number): Promise<Agent | undefined> {
  const [row] = await database.read.all(AGENT, [agentId]);
  return row === undefined ? undefined : agentTable.read(row);
}

const parse = (override: string | null) => (override === null ? null : (JSON.parse(override) as Override));

/** The agent's own greeting, then one for each override that speaks otherwise. */
async function* greetingsOf(database: Database, agent: Agent): AsyncGenerator<[number | null, SynthesisRequest]> {
  const own = greetingOf(agent, null);
  if (own !== null) yield [null, own];
  for (let after = 0; ;) {
    const rows = await database.read.all<{ id: number; override: string }>(OVERRIDES, [agent.id, after]);
    for (const { id, override } of rows) {
      const parsed = parse(override);
      const greeting = changesGreeting(parsed) ? greetingOf(agent, parsed) : null;
      if (greeting !== null) yield [id, greeting];
      after = id;
    }
    if (rows.length < PAGE) return;
  }
}

/** What there is to do for an agent. A silent agent's audio is kept, so that switching greetings off and on makes nothing twice. */
export async function planFor(database: Database, agentId: number): Promise<Plan> {
  const agent = await findSpeaker(database, agentId);
  if (agent === undefined) return { missing: [], dueMs: undefined, superseded: [] };
  const stored = await listAudio(database.read, agentId);
  const superseded = new Map(stored);
  const missing = new Map<string, Missing>();
  let dueMs: number | undefined;
  for await (const [qrId, greeting] of greetingsOf(database, agent)) {
    const digest = greetingDigest(greeting);
    const hex = digest.toString("hex");
    superseded.delete(hex);
    const state = stored.get(hex);
    if (!agent.greetingEnabled || isSettled(state)) continue;
    const waitMs = state?.nextAttemptAt ? Date.parse(state.nextAttemptAt) - Date.now() : 0;
    if (waitMs > 0) dueMs = soonest(dueMs, waitMs);
    else if (missing.size >= MAX_GREETINGS) dueMs = 0;
    else missing.set(hex, { qrId, greeting, digest, attempts: state?.attempts ?? 0 });
  }
  return { missing: [...missing.values()], dueMs, superseded: [...superseded.values()].map(({ digest }) => digest) };
}

const isSettled = (state: AudioState | undefined) => state?.status === "ready" || state?.status === "failed";

/** Whether a greeting is still what is said. Newer text has marked the agent, so that older audio is not worth finishing. */
export async function isCurrent(database: Database, agentId: number, { qrId, digest }: Missing): Promise<boolean> {
  const agent = await findSpeaker(database, agentId);
  if (agent === undefined || !agent.greetingEnabled) return false;
  let override: Override | null = null;
  if (qrId !== null) {
    const [row] = await database.read.all<{ override: string | null }>(OVERRIDE, [qrId, agentId]);
    if (row === undefined) return false;
    override = parse(row.override);
  }
  const greeting = greetingOf(agent, override);
  return greeting !== null && greetingDigest(greeting).equals(digest);
}
