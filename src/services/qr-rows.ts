import { QrCode } from "../../entities/qr-code.js";
import { now } from "../clock.js";
import type { Context } from "../context.js";
import type { Database, Lock, Sql, SqlValue } from "../database/sql.js";
import { tableOf } from "../database/table.js";
import { ApiError, versionConflict } from "../errors.js";
import { sha256 } from "../keys.js";

/** The fixed statements on qr_codes. */
export const qrTable = tableOf(QrCode);

const FIND = `SELECT ${qrTable.select} FROM qr_codes WHERE owner_id = ? AND short_id = ? AND deleted_at IS NULL`;

/** The columns behind a QRCodeResponse. */
const qrView = qrTable.view([
  "id",
  "shortId",
  "name",
  "description",
  "destinationUrl",
  "externalReference",
  "propertyContext",
  "isActive",
  "resourceVersion",
  "createdAt",
  "updatedAt",
]);
/** What a QRCodeResponse is made of. */
export type QrView = ReturnType<typeof qrView.read>;

const PAGE = "WHERE owner_id = ? AND is_active = 1 ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?";
const LIST = `SELECT ${qrView.select} FROM qr_codes ${PAGE}`;
/** Cuts the page on the index alone and fetches only its rows; what it skips costs less, its temporary table more. */
const LIST_DEEP = `SELECT ${qrView.select} FROM qr_codes JOIN (SELECT id AS page_id FROM qr_codes ${PAGE}) page
  ON id = page_id ORDER BY created_at DESC, id DESC`;
const DEEP_OFFSET = 500;

/** The characters of a short_id: none that is easily taken for another. */
export const SHORT_ID_ALPHABET = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";
export const SHORT_ID_LENGTH = 10;
const SHORT_ID_PATTERN = new RegExp(`^[${SHORT_ID_ALPHABET}]{${SHORT_ID_LENGTH}}$`);

/** The digest that makes a reference unique and found byte for byte; collations fold case or pad blanks. */
export function referenceHash(reference: string | null): Buffer | null {
  return reference === null ? null : sha256(reference);
}

/** One of the caller's QR codes that is not deleted; inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function findQr(ctx: Context, shortId: string, lock: Lock = "none"): Promise<QrCode> {
  // What is not of the form cannot be there, and 'abc ' would match 'abc' under a padding collation.
  const rows = SHORT_ID_PATTERN.test(shortId) ? await ctx.sql.all(FIND, [ctx.caller.ownerId, shortId], lock) : [];
  if (rows.length === 0) throw new ApiError("RESOURCE_NOT_FOUND");
  return qrTable.read(rows[0]);
}

/** Look-ups of what a QRCodeResponse is made of; made once a database. */
export function qrLookups(database: Database) {
  const shared = { select: `SELECT ${qrView.select} FROM qr_codes`, read: qrView.read };
  const byReference = {
    select: `SELECT ${qrView.select}, external_reference_hash AS hash FROM qr_codes`,
    column: "external_reference_hash",
    property: "hash",
    read: qrView.read,
  };
  return {
    qrByShortId: database.lookup({
      ...shared,
      column: "short_id",
      property: "shortId",
      where: " AND deleted_at IS NULL",
    }),
    qrByReference: database.lookup(byReference),
    qrList: database.query(LIST, qrView.read),
    qrListDeep: database.query(LIST_DEEP, qrView.read),
  };
}

/** Like `findQr`, for the response alone, and outside of the transaction. Throws RESOURCE_NOT_FOUND. */
export async function viewQr(ctx: Context, shortId: string): Promise<QrView> {
  const { ownerId } = ctx.caller;
  const row = SHORT_ID_PATTERN.test(shortId) ? await ctx.deps.lookups.qrByShortId(ownerId, shortId) : undefined;
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return row;
}

/** The caller's QR code with this reference; inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function viewQrByReference(ctx: Context, reference: string): Promise<QrView> {
  const row = await ctx.deps.lookups.qrByReference(ctx.caller.ownerId, sha256(reference));
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return row;
}

/** The caller's active QR codes, newest first. */
export async function listQrViews(ctx: Context, limit: number, offset: number): Promise<readonly QrView[]> {
  const { qrList, qrListDeep } = ctx.deps.lookups;
  const list = offset > DEEP_OFFSET ? qrListDeep : qrList;
  // As text: MySQL 8.4 refuses a prepared LIMIT that is sent as a double.
  return list([ctx.caller.ownerId, String(limit), String(offset)]);
}

/** A counter of qr_codes, with its property. */
const COUNTERS = { resourceVersion: "resource_version", bindingVersion: "binding_version" } as const;

/** Compare-and-swap on one of a QR code's two counters. Throws RESOURCE_VERSION_CONFLICT, RESOURCE_NOT_FOUND. */
export async function swapQr<Counter extends keyof typeof COUNTERS>(
  ctx: Context,
  counter: Counter,
  row: Pick<QrCode, "id" | "shortId" | Counter>,
  set: { text: string; values: SqlValue[] },
): Promise<void> {
  const column = COUNTERS[counter];
  const expected: number = row[counter];
  const text = `UPDATE qr_codes SET ${set.text}, ${column} = ${column} + 1 WHERE id = ? AND ${column} = ? AND deleted_at IS NULL`;
  if (await ctx.sql.swap(text, [...set.values, row.id, expected])) return;
  const current = await findQr(ctx, row.shortId);
  throw versionConflict(expected, current[counter]);
}

const DETACH = "agent_id = NULL, binding_override = NULL, binding_marker = NULL, binding_updated_at = ?";

/** What clears a binding; the counter is the caller's to move. */
export function detachedNow(at = now()): { text: string; values: SqlValue[] } {
  return { text: DETACH, values: qrTable.assign({ bindingUpdatedAt: at }).values };
}

const DETACH_AGENT = `UPDATE qr_codes SET binding_version = binding_version + 1, ${DETACH} WHERE agent_id = ?`;

/** Detaches an agent from every QR code, in one statement however many there are. Returns how many. */
export async function detachAgentEverywhere(sql: Sql, agentId: number): Promise<number> {
  return (await sql.run(DETACH_AGENT, [...detachedNow().values, agentId])).affected;
}
