import type { Agent } from "../../entities/agent.js";
import { now } from "../clock.js";
import type { Context } from "../context.js";
import { versionConflict } from "../errors.js";
import type {
  AgentCreate,
  AgentDeactivateResponse,
  AgentDelete,
  AgentGet,
  AgentList,
  AgentResponse,
  AgentUpdate,
} from "../schemas/agents.js";
import { agentTable, findAgent, listAgentRows, swapAgent, viewAgent, viewAgentByReference } from "./agent-rows.js";
import { asReferenceConflict } from "./qr.js";
import { forgetAllBound, greetChangedAgent, greetNewAgent } from "./greeting-audio.js";
import { detachAgentEverywhere, referenceHash } from "./qr-rows.js";

/** A row as its owner sees it. */
function presentAgent(row: Agent): AgentResponse {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    external_reference: row.externalReference,
    model: row.model,
    system_prompt: row.systemPrompt,
    greeting_message: row.greetingMessage,
    greeting_enabled: row.greetingEnabled,
    trigger_message: row.triggerMessage,
    trigger_enabled: row.triggerEnabled,
    voice_name: row.voiceName,
    turn_coverage: row.turnCoverage,
    email_notifications_enabled: row.emailNotificationsEnabled,
    tools: row.tools,
    extra_config: row.extraConfig,
    is_active: row.isActive,
    resource_version: row.resourceVersion,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

/** Creates an agent, active unless told otherwise. Throws EXTERNAL_REFERENCE_CONFLICT. */
export async function createAgent(ctx: Context, input: AgentCreate): Promise<AgentResponse> {
  const at = now();
  const row = {
    ownerId: ctx.caller.ownerId,
    name: input.name,
    description: input.description ?? null,
    externalReference: input.external_reference ?? null,
    externalReferenceHash: referenceHash(input.external_reference ?? null),
    model: input.model ?? ctx.deps.config.defaultVoiceModel,
    systemPrompt: input.system_prompt ?? null,
    greetingMessage: input.greeting_message ?? null,
    greetingEnabled: input.greeting_enabled,
    triggerMessage: input.trigger_message ?? null,
    triggerEnabled: input.trigger_enabled,
    voiceName: input.voice_name,
    turnCoverage: input.turn_coverage,
    emailNotificationsEnabled: input.email_notifications_enabled,
    tools: input.tools ?? null,
    extraConfig: input.extra_config ?? null,
    isActive: input.is_active,
    resourceVersion: 1,
    createdAt: at,
    updatedAt: at,
  };
  try {
    const { insertId } = await ctx.sql.run(agentTable.insert, agentTable.values(row));
    ctx.change = { resource: "agents", resourceId: String(insertId), versionBefore: null, versionAfter: 1 };
    await greetNewAgent(ctx, insertId, row);
    return presentAgent({ ...row, id: insertId });
  } catch (error) {
    throw asReferenceConflict(error);
  }
}

/** The caller's agents, newest first. */
export async function listAgents(ctx: Context, input: AgentList): Promise<AgentResponse[]> {
  const rows = await listAgentRows(ctx, input.include_inactive, input.limit, input.offset);
  return rows.map(presentAgent);
}

/** One agent, inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function getAgent(ctx: Context, input: AgentGet): Promise<AgentResponse> {
  return presentAgent(await viewAgent(ctx, input.agent_id));
}

/** One agent by its reference. Throws RESOURCE_NOT_FOUND. */
export async function getAgentByReference(ctx: Context, input: { external_reference: string }): Promise<AgentResponse> {
  return presentAgent(await viewAgentByReference(ctx, input.external_reference));
}

/** Fields that null clears, and those that null leaves as they are. */
const CLEARABLE = [
  ["description", "description"],
  ["system_prompt", "systemPrompt"],
  ["greeting_message", "greetingMessage"],
  ["trigger_message", "triggerMessage"],
  ["tools", "tools"],
  ["extra_config", "extraConfig"],
] as const;
const KEPT = [
  ["name", "name"],
  ["model", "model"],
  ["greeting_enabled", "greetingEnabled"],
  ["trigger_enabled", "triggerEnabled"],
  ["voice_name", "voiceName"],
  ["turn_coverage", "turnCoverage"],
  ["email_notifications_enabled", "emailNotificationsEnabled"],
  ["is_active", "isActive"],
] as const;

/** All columns a PATCH may change are always written: one fixed statement, not one for every set of fields. */
function changesOf(input: AgentUpdate, row: Agent): Partial<Agent> {
  const cleared = CLEARABLE.map(([field, property]) => [
    property,
    input[field] === undefined ? row[property] : input[field],
  ]);
  const kept = KEPT.map(([field, property]) => [property, input[field] ?? row[property]]);
  return Object.fromEntries([...cleared, ...kept]) as Partial<Agent>;
}

function recordAgentChange(ctx: Context, { id, resourceVersion }: Agent): void {
  ctx.change = {
    resource: "agents",
    resourceId: String(id),
    versionBefore: resourceVersion,
    versionAfter: resourceVersion + 1,
  };
}

/** Changes the supplied fields; bindings stay. Throws RESOURCE_NOT_FOUND, RESOURCE_VERSION_CONFLICT. */
export async function updateAgent(ctx: Context, input: AgentUpdate): Promise<AgentResponse> {
  const row = await viewAgent(ctx, input.agent_id);
  if (row.resourceVersion !== input.if_match_version)
    throw versionConflict(input.if_match_version, row.resourceVersion);
  const changes = { ...changesOf(input, row), updatedAt: now() };
  await swapAgent(ctx, row, agentTable.assign(changes));
  await greetChangedAgent(ctx, row, changes);
  recordAgentChange(ctx, row);
  return presentAgent({ ...row, ...changes, resourceVersion: row.resourceVersion + 1 });
}

/**
 * Switches an agent off and detaches it from every QR code. The agent is locked before the QR codes are looked for, so that
 * an attach either comes before and is detached, or waits and finds it inactive. Throws RESOURCE_NOT_FOUND, RESOURCE_VERSION_CONFLICT.
 */
export async function deactivateAgent(ctx: Context, input: AgentDelete): Promise<AgentDeactivateResponse> {
  const row = await findAgent(ctx, input.agent_id, "update");
  if (row.resourceVersion !== input.if_match_version)
    throw versionConflict(input.if_match_version, row.resourceVersion);
  await swapAgent(ctx, row, agentTable.assign({ isActive: false, updatedAt: now() }));
  const detached = await detachAgentEverywhere(ctx.sql, row.id);
  await forgetAllBound(ctx, row.id, detached);
  recordAgentChange(ctx, row);
  return {
    status: "deactivated",
    agent_id: row.id,
    is_active: false,
    resource_version: row.resourceVersion + 1,
    detached_qr_count: detached,
  };
}
