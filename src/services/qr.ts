import type { QrCode } from "../../entities/qr-code.js";
import { now } from "../clock.js";
import type { Context } from "../context.js";
import { UniqueViolation } from "../database/sql.js";
import { ApiError, versionConflict } from "../errors.js";
import { randomText } from "../keys.js";
import type { QrCreate, QrDeactivateResponse, QrDelete, QrGet, QrList, QrResponse, QrUpdate } from "../schemas/qr.js";
import { forgetBoundGreeting } from "./greeting-audio.js";
import {
  findQr,
  listQrViews,
  qrTable,
  referenceHash,
  SHORT_ID_ALPHABET,
  SHORT_ID_LENGTH,
  swapQr,
  type QrView,
  viewQr,
  viewQrByReference,
} from "./qr-rows.js";

type QrRow = Omit<QrCode, "id">;

/** A row as its owner sees it. */
function presentQr(ctx: Context, row: Omit<QrView, "id">): QrResponse {
  return {
    short_id: row.shortId,
    scan_url: `${ctx.deps.config.publicScanUrl}/${row.shortId}`,
    name: row.name,
    description: row.description,
    destination_url: row.destinationUrl,
    external_reference: row.externalReference,
    property_context:
      row.propertyContext === null ? null : (JSON.parse(row.propertyContext) as Record<string, unknown>),
    is_active: row.isActive,
    resource_version: row.resourceVersion,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

/** A reference that is taken is the caller's to change; anything else is passed on. */
export function asReferenceConflict(error: unknown): unknown {
  const taken = error instanceof UniqueViolation && error.index.includes("reference");
  return taken ? new ApiError("EXTERNAL_REFERENCE_CONFLICT", { cause: error }) : error;
}

async function insertQr(ctx: Context, row: QrRow): Promise<void> {
  try {
    // Without a reference only the random short_id is unique, and the row can share a statement with others.
    if (row.externalReference === null) await ctx.sql.insertLater(qrTable, qrTable.values(row));
    else await ctx.sql.run(qrTable.insert, qrTable.values(row));
  } catch (error) {
    if (!(error instanceof UniqueViolation && error.index.includes("short_id"))) throw asReferenceConflict(error);
    row.shortId = randomText(SHORT_ID_ALPHABET, SHORT_ID_LENGTH);
    await insertQr(ctx, row);
  }
}

/** Creates a QR code, active unless told otherwise. Throws EXTERNAL_REFERENCE_CONFLICT. */
export async function createQr(ctx: Context, input: QrCreate): Promise<QrResponse> {
  const at = now();
  const row: QrRow = {
    ownerId: ctx.caller.ownerId,
    shortId: randomText(SHORT_ID_ALPHABET, SHORT_ID_LENGTH),
    name: input.name ?? null,
    description: input.description ?? null,
    destinationUrl: input.destination_url ?? null,
    externalReference: input.external_reference ?? null,
    externalReferenceHash: referenceHash(input.external_reference ?? null),
    propertyContext: input.property_context ? JSON.stringify(input.property_context) : null,
    isActive: input.is_active,
    deletedAt: null,
    resourceVersion: 1,
    createdAt: at,
    updatedAt: at,
    paywallEnabled: false,
    paywallPriceCents: null,
    paywallCurrency: "usd",
    paywallProductName: null,
    bindingVersion: 1,
    agentId: null,
    bindingOverride: null,
    bindingMarker: null,
    bindingUpdatedAt: at,
  };
  await insertQr(ctx, row);
  ctx.change = { resource: "qr", resourceId: row.shortId, versionBefore: null, versionAfter: 1 };
  return presentQr(ctx, row);
}

/** The caller's active QR codes, newest first. */
export async function listQr(ctx: Context, input: QrList): Promise<QrResponse[]> {
  const rows = await listQrViews(ctx, input.limit, input.offset);
  return rows.map((row) => presentQr(ctx, row));
}

/** One active QR code. Throws RESOURCE_NOT_FOUND. */
export async function getQr(ctx: Context, input: QrGet): Promise<QrResponse> {
  const row = await viewQr(ctx, input.short_id);
  if (!row.isActive) throw new ApiError("RESOURCE_NOT_FOUND");
  return presentQr(ctx, row);
}

/** One QR code by its reference, a draft too. Throws RESOURCE_NOT_FOUND. */
export async function getQrByReference(ctx: Context, input: { external_reference: string }): Promise<QrResponse> {
  return presentQr(ctx, await viewQrByReference(ctx, input.external_reference));
}

/**
 * The columns a PATCH may change: absent leaves as is, null clears what can be empty. All are always written, so that the
 * statement is one fixed text, not one for every set of fields: servers hold a limited number of prepared ones.
 */
function changesOf(input: QrUpdate, row: QrView) {
  const { name, description, destinationUrl, externalReference, propertyContext, isActive } = row;
  const changes = { name, description, destinationUrl, externalReference, propertyContext, isActive };
  if (input.name !== undefined) changes.name = input.name;
  if (input.description !== undefined) changes.description = input.description;
  if (input.destination_url !== undefined) changes.destinationUrl = input.destination_url;
  if (input.external_reference !== undefined) changes.externalReference = input.external_reference;
  if (input.property_context !== undefined) {
    changes.propertyContext = input.property_context === null ? null : JSON.stringify(input.property_context);
  }
  if (typeof input.is_active === "boolean") changes.isActive = input.is_active;
  return { ...changes, externalReferenceHash: referenceHash(changes.externalReference), updatedAt: now() };
}

/** The row at the version the caller last read. Throws RESOURCE_NOT_FOUND, RESOURCE_VERSION_CONFLICT. */
async function findQrAtVersion(ctx: Context, shortId: string, expected: number): Promise<QrView> {
  const row = await viewQr(ctx, shortId);
  if (row.resourceVersion !== expected) throw versionConflict(expected, row.resourceVersion);
  return row;
}

function recordQrChange(ctx: Context, row: QrView): void {
  const { shortId, resourceVersion } = row;
  ctx.change = {
    resource: "qr",
    resourceId: shortId,
    versionBefore: resourceVersion,
    versionAfter: resourceVersion + 1,
  };
}

/** Changes the supplied fields. Throws RESOURCE_NOT_FOUND, RESOURCE_VERSION_CONFLICT, EXTERNAL_REFERENCE_CONFLICT. */
export async function updateQr(ctx: Context, input: QrUpdate): Promise<QrResponse> {
  const row = await findQrAtVersion(ctx, input.short_id, input.if_match_version);
  const changes = changesOf(input, row);
  try {
    await swapQr(ctx, "resourceVersion", row, qrTable.assign(changes));
  } catch (error) {
    throw asReferenceConflict(error);
  }
  recordQrChange(ctx, row);
  return presentQr(ctx, { ...row, ...changes, resourceVersion: row.resourceVersion + 1 });
}

/** Soft delete: detaches the agent and frees the reference; the row stays. Throws RESOURCE_NOT_FOUND, RESOURCE_VERSION_CONFLICT. */
export async function deleteQr(ctx: Context, input: QrDelete): Promise<QrDeactivateResponse> {
  const row = await findQr(ctx, input.short_id);
  if (row.resourceVersion !== input.if_match_version)
    throw versionConflict(input.if_match_version, row.resourceVersion);
  const at = now();
  const set = qrTable.assign({
    externalReferenceHash: null,
    isActive: false,
    deletedAt: at,
    updatedAt: at,
    agentId: null,
    bindingOverride: null,
    bindingMarker: null,
    bindingUpdatedAt: at,
  });
  const text = `binding_version = binding_version + 1, ${set.text}`;
  await swapQr(ctx, "resourceVersion", row, { text, values: set.values });
  await forgetBoundGreeting(ctx, row);
  recordQrChange(ctx, row);
  return {
    status: "deactivated",
    short_id: row.shortId,
    is_active: false,
    resource_version: row.resourceVersion + 1,
  };
}
