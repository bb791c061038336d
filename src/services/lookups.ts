import type { Database } from "../database/sql.js";
import { agentLookups } from "./agent-rows.js";
import { qrLookups } from "./qr-rows.js";

/** The look-ups of a database, made at start. */
export function createLookups(database: Database) {
  return { ...qrLookups(database), ...agentLookups(database) };
}
export type Lookups = ReturnType<typeof createLookups>;
