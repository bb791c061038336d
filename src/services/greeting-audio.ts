import type { Context } from "../context.js";
import { ApiError } from "../errors.js";
import { changesGreeting, greetingDigest, greetingOf, needsGreeting, type Speaker } from "../greetings/greeting.js";
import { markGreetings } from "../greetings/queue.js";
import { findAudio } from "../greetings/store.js";
import type { Override } from "../schemas/bindings.js";
import type { GreetingAudioGet, GreetingAudioResponse } from "../schemas/greeting-audio.js";
import { findAgent } from "./agent-rows.js";
import { findQr } from "./qr-rows.js";

/** Has an agent's greetings looked after once the mutation is committed; the answer does not wait for it. */
async function lookAfter(ctx: Context, agentId: number): Promise<void> {
  await markGreetings(ctx.sql, agentId);
  ctx.afterCommit = ctx.deps.wakeGreetings;
}

type SpeakingAgent = Speaker & { id: number };

/** A new agent's greeting is made where it has one; anything else costs nothing. */
export async function greetNewAgent(ctx: Context, agentId: number, agent: Speaker): Promise<void> {
  if (agent.greetingEnabled && greetingOf(agent, null) !== null) await lookAfter(ctx, agentId);
}

/** A changed agent's greetings are made again where they are needed; any other change costs nothing. */
export async function greetChangedAgent(ctx: Context, before: SpeakingAgent, changes: Partial<Speaker>): Promise<void> {
  if (needsGreeting(before, { ...before, ...changes })) await lookAfter(ctx, before.id);
}

const storedOverride = (text: string | null) => (text === null ? null : (JSON.parse(text) as Override));

interface Bound {
  agentId: number | null;
  bindingOverride: string | null;
}

/** A binding that is over takes the audio of its override with it. */
export async function forgetBoundGreeting(ctx: Context, { agentId, bindingOverride }: Bound): Promise<void> {
  if (agentId !== null && changesGreeting(storedOverride(bindingOverride))) await lookAfter(ctx, agentId);
}

/** The audio of an override is made when it is attached, and that of the one it replaces goes. */
export async function greetBinding(
  ctx: Context,
  before: Bound,
  agent: SpeakingAgent,
  override: Override | null,
): Promise<void> {
  const speaks = agent.greetingEnabled && changesGreeting(override) && greetingOf(agent, override) !== null;
  if (speaks) await lookAfter(ctx, agent.id);
  if (!speaks || before.agentId !== agent.id) await forgetBoundGreeting(ctx, before);
}

/** A deactivation ends every binding of its agent. */
export async function forgetAllBound(ctx: Context, agentId: number, detached: number): Promise<void> {
  if (detached > 0) await lookAfter(ctx, agentId);
}

/** The override of a QR code that is bound to this agent; none where no code is asked for. Throws RESOURCE_NOT_FOUND. */
async function overrideAt(ctx: Context, agentId: number, shortId: string | undefined): Promise<Override | null> {
  if (shortId === undefined) return null;
  const qr = await findQr(ctx, shortId);
  if (qr.agentId !== agentId) throw new ApiError("RESOURCE_NOT_FOUND");
  return storedOverride(qr.bindingOverride);
}

const without = (status: "none" | "pending" | "failed") => ({ status, content_type: null, audio_base64: null });

/** The audio of what an agent says first now, never that of an earlier text. Throws RESOURCE_NOT_FOUND. */
export async function getGreetingAudio(ctx: Context, input: GreetingAudioGet): Promise<GreetingAudioResponse> {
  const agent = await findAgent(ctx, input.agent_id);
  const greeting = greetingOf(agent, await overrideAt(ctx, agent.id, input.short_id));
  if (!agent.greetingEnabled || greeting === null) return without("none");
  const found = await findAudio(ctx.sql, agent.id, greetingDigest(greeting));
  if (found === undefined) return without("pending");
  if (found.status !== "ready" || found.content === null)
    return without(found.status === "failed" ? "failed" : "pending");
  return { status: "ready", content_type: found.contentType, audio_base64: found.content.toString("base64") };
}
