import { Agent } from "../../entities/agent.js";
import type { Context } from "../context.js";
import type { SqlValue } from "../database/sql.js";
import { tableOf } from "../database/table.js";
import { ApiError, versionConflict } from "../errors.js";
import { sha256 } from "../keys.js";

/** The fixed statements on agents. */
export const agentTable = tableOf(Agent);

const FIND = `SELECT ${agentTable.select} FROM agents WHERE owner_id = ? AND id = ?`;
const FIND_BY_REFERENCE = `SELECT ${agentTable.select} FROM agents WHERE owner_id = ? AND external_reference_hash = ?`;
/** The page is cut on the index alone; only its rows are then fetched. */
const listText = (where: string) => `SELECT ${agentTable.select} FROM agents JOIN
  (SELECT id AS page_id FROM agents WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page
  ON id = page_id ORDER BY created_at DESC, id DESC`;
const LIST_ACTIVE = listText("owner_id = ? AND is_active = 1");
const LIST_ALL = listText("owner_id = ?");

/** One of the caller's agents, inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function findAgent(ctx: Context, id: number, lock = ""): Promise<Agent> {
  const [row] = await ctx.sql.all(FIND + lock, [ctx.caller.ownerId, id]);
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return agentTable.read(row);
}

/** The caller's agent with this reference. Throws RESOURCE_NOT_FOUND. */
export async function findAgentByReference(ctx: Context, reference: string): Promise<Agent> {
  const [row] = await ctx.sql.all(FIND_BY_REFERENCE, [ctx.caller.ownerId, sha256(reference)]);
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return agentTable.read(row);
}

/** The caller's agents, newest first. */
export async function listAgentRows(ctx: Context, all: boolean, limit: number, offset: number): Promise<Agent[]> {
  // As text: MySQL 8.4 refuses a prepared LIMIT that is sent as a double.
  const page = [ctx.caller.ownerId, String(limit), String(offset)];
  const rows = await ctx.sql.all(all ? LIST_ALL : LIST_ACTIVE, page);
  return rows.map(agentTable.read);
}

/** Compare-and-swap on an agent's version. Throws RESOURCE_VERSION_CONFLICT. */
export async function swapAgent(ctx: Context, row: Agent, set: { text: string; values: SqlValue[] }): Promise<void> {
  const text = `UPDATE agents SET ${set.text}, resource_version = resource_version + 1 WHERE id = ? AND resource_version = ?`;
  const { affected } = await ctx.sql.run(text, [...set.values, row.id, row.resourceVersion]);
  if (affected === 1) return;
  const current = await findAgent(ctx, row.id);
  throw versionConflict(row.resourceVersion, current.resourceVersion);
}
