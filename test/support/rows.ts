import { query } from "./backends.js";
import type { TestOwner } from "./owners.js";

/** An audit row, as stored. */
export interface AuditRow {
  owner_id: number;
  key_id: string;
  request_id: string;
  procedure: string;
  resource: string;
  resource_id: string;
  version_before: number | null;
  version_after: number;
  created_at: string;
}

/** The id of an owner in the database. */
export async function ownerId({ running, name }: TestOwner): Promise<number> {
  const [row] = await query<{ id: number }>(running, "SELECT id FROM owners WHERE name = ?", [name]);
  if (row === undefined) throw new Error(`There is no owner ${name}.`);
  return row.id;
}

/** Every audit row of an owner, oldest first. */
export async function auditOf(owner: TestOwner): Promise<AuditRow[]> {
  const text = "SELECT * FROM audit_events WHERE owner_id = ? ORDER BY id";
  return query(owner.running, text, [await ownerId(owner)]);
}

/** A row of qr_codes past the API; undefined where there is none. */
export async function storedQr({ running }: TestOwner, shortId: string): Promise<Record<string, unknown> | undefined> {
  const [row] = await query<Record<string, unknown>>(running, "SELECT * FROM qr_codes WHERE short_id = ?", [shortId]);
  return row;
}

const DIGITS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => `SELECT ${digit} AS d`).join(" UNION ALL ");

let series = 0;

/** Inserts up to 100,000 QR codes by one plain statement, a millisecond apart; the newest is the last. */
export async function seedQrCodes(
  owner: TestOwner,
  count: number,
  columns: { agent_id?: number; is_active?: string } = {},
): Promise<void> {
  const { agent_id: agentId = "NULL", is_active: isActive = "1" } = columns;
  const sqlite = owner.running.backend === "sqlite";
  const padded = sqlite ? "printf('%06d', i)" : "LPAD(i, 6, '0')";
  const at = sqlite
    ? "strftime('%Y-%m-%d %H:%M:%f', '2026-01-01', '+' || (i / 1000.0) || ' seconds')"
    : "TIMESTAMP('2026-01-01') + INTERVAL i * 1000 MICROSECOND";
  const prefix = `S${String(++series).padStart(3, "0")}`;
  const shortId = sqlite ? `'${prefix}' || ${padded}` : `CONCAT('${prefix}', ${padded})`;
  await query(
    owner.running,
    `INSERT INTO qr_codes (owner_id, short_id, name, is_active, resource_version, created_at, updated_at, paywall_enabled,
       paywall_currency, binding_version, agent_id, binding_override, binding_updated_at)
     SELECT ${await ownerId(owner)}, ${shortId}, ${padded}, ${isActive}, 1, ${at}, ${at}, 0, 'usd', 2, ${agentId}, '{}', ${at}
     FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS i
       FROM (${DIGITS}) a, (${DIGITS}) b, (${DIGITS}) c, (${DIGITS}) e, (${DIGITS}) f) n
     WHERE i < ${count} ORDER BY i`,
  );
}

/** Puts a receipt into the database: id, fingerprint, attempt, body, created_at. */
export const INSERT_RECEIPT =
  "INSERT INTO idempotency_receipts (id, fingerprint, attempt, body, created_at) VALUES (?, ?, ?, ?, ?)";
