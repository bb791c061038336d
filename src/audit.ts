import { AuditEvent } from "../entities/audit-event.js";
import { now } from "./clock.js";
import type { Context } from "./context.js";
import { tableOf } from "./database/table.js";

const events = tableOf(AuditEvent);

/** Writes the audit row of a mutation in its transaction. A mutation that did not report its change is a fault of ours. */
export async function writeAudit(ctx: Context, procedure: string): Promise<void> {
  if (ctx.change === undefined) throw new Error(`${procedure} reported no change to audit.`);
  const { ownerId, keyId } = ctx.caller;
  const row = { ...ctx.change, ownerId, keyId, requestId: ctx.requestId, procedure, createdAt: now() };
  await ctx.sql.insertLater(events, events.values(row));
}
