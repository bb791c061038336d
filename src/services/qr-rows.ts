import { QrCode } from "../../entities/qr-code.js";
import { now } from "../clock.js";
import type { Context } from "../context.js";
import type { Sql, SqlValue } from "../database/sql.js";
import { tableOf } from "../database/table.js";
import { ApiError, versionConflict } from "../errors.js";
import { sha256 } from "../keys.js";

/** The fixed statements on qr_codes. */
export const qrTable = tableOf(QrCode);

const FIND = `SELECT ${qrTable.select} FROM qr_codes WHERE owner_id = ? AND short_id = ? AND deleted_at IS NULL`;
const FIND_BY_REFERENCE = `SELECT ${qrTable.select} FROM qr_codes WHERE owner_id = ? AND external_reference_hash = ?`;
/** The page is cut on the index alone; only its rows are then fetched. */
const LIST = `SELECT ${qrTable.select} FROM qr_codes JOIN
  (SELECT id AS page_id FROM qr_codes WHERE owner_id = ? AND is_active = 1 ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page
  ON id = page_id ORDER BY created_at DESC, id DESC`;

/** The characters of a short_id: none that is easily taken for another. */
export const SHORT_ID_ALPHABET = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";
export const SHORT_ID_LENGTH = 10;
const SHORT_ID_PATTERN = new RegExp(`^[${SHORT_ID_ALPHABET}]{${SHORT_ID_LENGTH}}$`);

/** The digest that makes a reference unique and found byte for byte; collations fold case or pad blanks. */
export function referenceHash(reference: string | null): Buffer | null {
  return reference === null ? null : sha256(reference);
}

/** One of the caller's QR codes that is not deleted; inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function findQr(ctx: Context, shortId: string, lock = ""): Promise<QrCode> {
  // What is not of the form cannot be there, and 'abc ' would match 'abc' under a padding collation.
  const rows = SHORT_ID_PATTERN.test(shortId) ? await ctx.sql.all(FIND + lock, [ctx.caller.ownerId, shortId]) : [];
  if (rows.length === 0) throw new ApiError("RESOURCE_NOT_FOUND");
  return qrTable.read(rows[0]);
}

/** The caller's QR code with this reference; inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function findQrByReference(ctx: Context, reference: string): Promise<QrCode> {
  const [row] = await ctx.sql.all(FIND_BY_REFERENCE, [ctx.caller.ownerId, sha256(reference)]);
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return qrTable.read(row);
}

/** The caller's active QR codes, newest first. */
export async function listQrRows(ctx: Context, limit: number, offset: number): Promise<QrCode[]> {
  // As text: MySQL 8.4 refuses a prepared LIMIT that is sent as a double.
  const rows = await ctx.sql.all(LIST, [ctx.caller.ownerId, String(limit), String(offset)]);
  return rows.map(qrTable.read);
}

/** A counter of qr_codes, with its property. */
const COUNTERS = { resourceVersion: "resource_version", bindingVersion: "binding_version" } as const;

/** Compare-and-swap on one of a QR code's two counters. Throws RESOURCE_VERSION_CONFLICT, RESOURCE_NOT_FOUND. */
export async function swapQr(
  ctx: Context,
  counter: keyof typeof COUNTERS,
  row: QrCode,
  set: { text: string; values: SqlValue[] },
): Promise<void> {
  const column = COUNTERS[counter];
  const text = `UPDATE qr_codes SET ${set.text}, ${column} = ${column} + 1 WHERE id = ? AND ${column} = ? AND deleted_at IS NULL`;
  const { affected } = await ctx.sql.run(text, [...set.values, row.id, row[counter]]);
  if (affected === 1) return;
  const current = await findQr(ctx, row.shortId);
  throw versionConflict(row[counter], current[counter]);
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
