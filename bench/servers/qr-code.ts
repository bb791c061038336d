import { randomBytes } from "node:crypto";

/** The table that all reference servers share: the gateway's QR code without its paywall, binding and deletion mark. */
export const CREATE_TABLE = `
  CREATE TABLE IF NOT EXISTS bench_qr_codes (
    id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    owner_id INT NOT NULL,
    short_id VARCHAR(10) NOT NULL,
    name VARCHAR(255) NULL,
    description VARCHAR(2000) NULL,
    destination_url VARCHAR(2048) NULL,
    external_reference VARCHAR(255) NULL,
    property_context TEXT NULL,
    is_active TINYINT NOT NULL,
    resource_version INT NOT NULL,
    created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    UNIQUE KEY ux_bench_qr_codes_short_id (short_id),
    KEY ix_bench_qr_codes_list (owner_id, is_active, created_at, id)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;

/** What a client may write. */
export interface QrCodeFields {
  name?: string | null;
  description?: string | null;
  destination_url?: string | null;
  external_reference?: string | null;
  property_context?: Record<string, unknown> | null;
  is_active?: boolean;
}

/** A row as mysql2 returns it. */
export interface QrCodeRow {
  short_id: string;
  name: string | null;
  description: string | null;
  destination_url: string | null;
  external_reference: string | null;
  property_context: string | null;
  is_active: number;
  resource_version: number;
  created_at: Date;
  updated_at: Date;
}

const WIRE_COLUMNS =
  "short_id, name, description, destination_url, external_reference, property_context, is_active, resource_version, created_at, updated_at";

/** One active QR code: short_id, owner. */
export const SELECT_ONE = `SELECT ${WIRE_COLUMNS} FROM bench_qr_codes WHERE short_id = ? AND owner_id = ? AND is_active = 1`;

/** A QR code whatever its state, as a PATCH answers it: short_id, owner. */
export const SELECT_ANY = `SELECT ${WIRE_COLUMNS} FROM bench_qr_codes WHERE short_id = ? AND owner_id = ?`;

/** A page, newest first: owner, limit, offset. */
export const SELECT_PAGE = `SELECT ${WIRE_COLUMNS} FROM bench_qr_codes WHERE owner_id = ? AND is_active = 1
  ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`;

/** A new row: owner, then the wire columns in their order. */
export const INSERT = `INSERT INTO bench_qr_codes (owner_id, ${WIRE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The characters of a short_id. */
export const ALPHABET = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";

/** A random short_id of 10 characters. */
export function newShortId(): string {
  let text = "";
  for (const byte of randomBytes(10)) text += ALPHABET.charAt(byte % ALPHABET.length);
  return text;
}

function toStored(value: QrCodeFields[keyof QrCodeFields]): string | number | null {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : (value ?? null);
}

/** The row that a create makes, so that it can be answered without reading it back. */
export function newRow(fields: QrCodeFields): QrCodeRow {
  const now = new Date();
  return {
    short_id: newShortId(),
    name: fields.name ?? null,
    description: fields.description ?? null,
    destination_url: fields.destination_url ?? null,
    external_reference: fields.external_reference ?? null,
    property_context: fields.property_context ? JSON.stringify(fields.property_context) : null,
    is_active: fields.is_active === false ? 0 : 1,
    resource_version: 1,
    created_at: now,
    updated_at: now,
  };
}

const CHANGEABLE = [
  "name",
  "description",
  "destination_url",
  "external_reference",
  "property_context",
  "is_active",
] as const;

/** The compare-and-swap of the supplied fields and its parameters. */
export function updateOf(owner: number, shortId: string, version: number, fields: QrCodeFields) {
  const supplied = CHANGEABLE.filter((name) => fields[name] !== undefined);
  const sql = `UPDATE bench_qr_codes SET ${supplied.map((name) => `${name} = ?, `).join("")}
    resource_version = resource_version + 1, updated_at = ? WHERE short_id = ? AND owner_id = ? AND resource_version = ?`;
  return { sql, values: [...supplied.map((name) => toStored(fields[name])), new Date(), shortId, owner, version] };
}

function parseContext(text: string | null): QrCodeFields["property_context"] {
  return text === null ? null : JSON.parse(text);
}

/** A row as QRCodeResponse. */
export function present(row: QrCodeRow) {
  return {
    short_id: row.short_id,
    scan_url: `https://scan.example/${row.short_id}`,
    name: row.name,
    description: row.description,
    destination_url: row.destination_url,
    external_reference: row.external_reference,
    property_context: parseContext(row.property_context),
    is_active: row.is_active === 1,
    resource_version: row.resource_version,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
