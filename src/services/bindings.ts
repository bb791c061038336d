import type { Agent } from "../../entities/agent.js";
import type { QrCode } from "../../entities/qr-code.js";
import { now } from "../clock.js";
import type { Context } from "../context.js";
import { ApiError, versionConflict } from "../errors.js";
import type { BindingAttach, BindingDetach, BindingResponse, Override } from "../schemas/bindings.js";
import type { QrGet } from "../schemas/qr.js";
import { digestOf } from "../signing.js";
import { findAgent } from "./agent-rows.js";
import { forgetBoundGreeting, greetBinding } from "./greeting-audio.js";
import { detachedNow, findQr, qrTable, swapQr } from "./qr-rows.js";

type BindingRow = Pick<QrCode, "shortId" | "bindingVersion" | "bindingOverride" | "bindingUpdatedAt">;

/** A binding as its owner sees it. */
function presentBinding(row: BindingRow, agent: Agent | null): BindingResponse {
  return {
    short_id: row.shortId,
    binding_version: row.bindingVersion,
    agent: agent && { id: agent.id, resource_version: agent.resourceVersion },
    override: row.bindingOverride === null ? null : (JSON.parse(row.bindingOverride) as Override),
    updated_at: row.bindingUpdatedAt,
  };
}

/** The binding of a QR code, a draft's too. Throws RESOURCE_NOT_FOUND. */
export async function getBinding(ctx: Context, input: QrGet): Promise<BindingResponse> {
  const row = await findQr(ctx, input.short_id);
  return presentBinding(row, row.agentId === null ? null : await findAgent(ctx, row.agentId));
}

function recordBindingChange(ctx: Context, { shortId, bindingVersion }: QrCode): void {
  const [versionBefore, versionAfter] = [bindingVersion, bindingVersion + 1];
  ctx.change = { resource: "qr_agent_binding", resourceId: shortId, versionBefore, versionAfter };
}

/** The override as stored; one without any value is none. */
function storedOverride(override: Override | null): string | null {
  const hasValue = override !== null && Object.values(override).some((value) => value !== null);
  return hasValue ? JSON.stringify(override) : null;
}

/** The signed context that readiness checks later. */
function signMarker(ctx: Context, row: QrCode, agentId: number): Promise<string> {
  return ctx.deps.signer.sign({
    owner: row.ownerId,
    short_id: row.shortId,
    external_reference: row.externalReference,
    agent_id: agentId,
    binding_version: row.bindingVersion + 1,
    property_context_digest: digestOf(row.propertyContext === null ? null : JSON.parse(row.propertyContext)),
  });
}

/**
 * Attaches an agent in place of the current one. The agent is locked before the QR code, in the order that deactivation
 * locks them. Throws RESOURCE_NOT_FOUND (either), RESOURCE_VERSION_CONFLICT, BINDING_TARGET_INACTIVE.
 */
export async function attachAgent(ctx: Context, input: BindingAttach): Promise<BindingResponse> {
  const agent = await findAgent(ctx, input.agent_id, "share");
  const row = await findQr(ctx, input.short_id, "update");
  if (row.bindingVersion !== input.if_match_version) throw versionConflict(input.if_match_version, row.bindingVersion);
  if (!agent.isActive) throw new ApiError("BINDING_TARGET_INACTIVE");
  const changes = {
    agentId: agent.id,
    bindingOverride: storedOverride(input.override),
    bindingMarker: await signMarker(ctx, row, agent.id),
    bindingUpdatedAt: now(),
  };
  await swapQr(ctx, "bindingVersion", row, qrTable.assign(changes));
  await greetBinding(ctx, row, agent, input.override);
  recordBindingChange(ctx, row);
  return presentBinding({ ...row, ...changes, bindingVersion: row.bindingVersion + 1 }, agent);
}

/** Detaches the agent, if there is one, and clears the override. Throws RESOURCE_NOT_FOUND, RESOURCE_VERSION_CONFLICT. */
export async function detachAgent(ctx: Context, input: BindingDetach): Promise<BindingResponse> {
  const row = await findQr(ctx, input.short_id);
  if (row.bindingVersion !== input.if_match_version) throw versionConflict(input.if_match_version, row.bindingVersion);
  const at = now();
  await swapQr(ctx, "bindingVersion", row, detachedNow(at));
  await forgetBoundGreeting(ctx, row);
  recordBindingChange(ctx, row);
  const after = { ...row, bindingVersion: row.bindingVersion + 1, bindingOverride: null, bindingUpdatedAt: at };
  return presentBinding(after, null);
}
