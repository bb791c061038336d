import type { QrCode } from "../../entities/qr-code.js";
import type { Context } from "../context.js";
import { ApiError } from "../errors.js";
import { sha256 } from "../keys.js";
import { READINESS_ERRORS, type ReadinessResponse } from "../schemas/readiness.js";
import { type BindingContext, digestOf } from "../signing.js";
import { qrTable } from "./qr-rows.js";

type ReadinessRow = QrCode & { agentIsActive: number | null };

const FIND = `SELECT qr.*, agent.is_active AS agentIsActive FROM
  (SELECT ${qrTable.select} FROM qr_codes WHERE owner_id = ? AND external_reference_hash = ?) qr
  LEFT JOIN agents agent ON agent.id = qr.agentId`;

function hasMembers(propertyContext: unknown): boolean {
  return typeof propertyContext === "object" && propertyContext !== null && Object.keys(propertyContext).length > 0;
}

/** The classifications, in the order in which the first that fails names the error. */
function classify(ctx: Context, row: ReadinessRow, signed: BindingContext | null) {
  const propertyContext: unknown = row.propertyContext === null ? null : JSON.parse(row.propertyContext);
  return {
    public_access_supported: row.isActive && !row.paywallEnabled,
    binding_marker_present: row.bindingMarker !== null,
    binding_valid:
      row.agentId !== null &&
      row.agentIsActive === 1 &&
      signed?.agent_id === row.agentId &&
      signed.binding_version === row.bindingVersion,
    property_context_ready:
      hasMembers(propertyContext) && signed?.property_context_digest === digestOf(propertyContext),
    context_identity_match:
      signed?.owner === row.ownerId &&
      signed.short_id === row.shortId &&
      signed.external_reference === row.externalReference,
    outcome_pipeline_ready: ctx.deps.config.outcomeSinkUrl !== undefined,
  };
}

/** Whether a QR code would answer the public: one read, then in memory; it writes and opens nothing. Throws RESOURCE_NOT_FOUND. */
export async function checkReadiness(ctx: Context, input: { external_reference: string }): Promise<ReadinessResponse> {
  const [found] = await ctx.sql.all(FIND, [ctx.caller.ownerId, sha256(input.external_reference)]);
  if (found === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  const row = qrTable.read(found) as ReadinessRow;
  const signed = row.bindingMarker === null ? null : await ctx.deps.signer.verify(row.bindingMarker);
  const classifications = classify(ctx, row, signed);
  const failed = Object.values(classifications).indexOf(false);
  return {
    status: failed === -1 ? "ready" : "unavailable",
    ...classifications,
    session_creation_count: 0,
    provider_connection_count: 0,
    database_mutation_count: 0,
    error_code: READINESS_ERRORS[failed] ?? null,
  };
}
