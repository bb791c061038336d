import { Agent } from "../../entities/agent.js";
import type { Context } from "../context.js";
import type { Database, Lock, SqlValue } from "../database/sql.js";
import { tableOf } from "../database/table.js";
import { ApiError, versionConflict } from "../errors.js";
import { sha256 } from "../keys.js";

/** The fixed statements on agents. */
export const agentTable = tableOf(Agent);

const FIND = `SELECT ${agentTable.select} FROM agents WHERE owner_id = ? AND id = ?`;
const listText = (where: string) =>
  `SELECT ${agentTable.select} FROM agents WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`;
/** Cuts the page on the index alone and fetches only its rows; what it skips costs less, its temporary table more. */
const deepListText = (where: string) => `SELECT ${agentTable.select} FROM agents JOIN
  (SELECT id AS page_id FROM agents WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page
  ON id = page_id ORDER BY created_at DESC, id DESC`;
const DEEP_OFFSET = 500;
const OWNED = "owner_id = ?";
const ACTIVE = "owner_id = ? AND is_active = 1";

/** Look-ups of single agents; made once a database. */
export function agentLookups(database: Database) {
  const shared = { select: `SELECT ${agentTable.select} FROM agents`, read: agentTable.read };
  const byReference = { column: "external_reference_hash", property: "externalReferenceHash" };
  const lists = (where: string) => ({
    near: database.query(listText(where), agentTable.read),
    deep: database.query(deepListText(where), agentTable.read),
  });
  return {
    agentById: database.lookup({ ...shared, column: "id", property: "id" }),
    agentByReference: database.lookup({ ...shared, ...byReference }),
    allAgents: lists(OWNED),
    activeAgents: lists(ACTIVE),
  };
}

/** One of the caller's agents, inactive ones too. Throws RESOURCE_NOT_FOUND. */
export async function findAgent(ctx: Context, id: number, lock: Lock = "none"): Promise<Agent> {
  const [row] = await ctx.sql.all(FIND, [ctx.caller.ownerId, id], lock);
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return agentTable.read(row);
}

/** Like `findAgent`, outside of the transaction. Throws RESOURCE_NOT_FOUND. */
export async function viewAgent(ctx: Context, id: number): Promise<Agent> {
  const row = await ctx.deps.lookups.agentById(ctx.caller.ownerId, id);
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return row;
}

/** The caller's agent with this reference. Throws RESOURCE_NOT_FOUND. */
export async function viewAgentByReference(ctx: Context, reference: string): Promise<Agent> {
  const row = await ctx.deps.lookups.agentByReference(ctx.caller.ownerId, sha256(reference));
  if (row === undefined) throw new ApiError("RESOURCE_NOT_FOUND");
  return row;
}

/** The caller's agents, newest first. */
export async function listAgentRows(
  ctx: Context,
  all: boolean,
  limit: number,
  offset: number,
): Promise<readonly Agent[]> {
  const { near, deep } = ctx.deps.lookups[all ? "allAgents" : "activeAgents"];
  // As text: MySQL 8.4 refuses a prepared LIMIT that is sent as a double.
  return (offset > DEEP_OFFSET ? deep : near)([ctx.caller.ownerId, String(limit), String(offset)]);
}

/** Compare-and-swap on an agent's version. Throws RESOURCE_VERSION_CONFLICT. */
export async function swapAgent(ctx: Context, row: Agent, set: { text: string; values: SqlValue[] }): Promise<void> {
  const text = `UPDATE agents SET ${set.text}, resource_version = resource_version + 1 WHERE id = ? AND resource_version = ?`;
  if (await ctx.sql.swap(text, [...set.values, row.id, row.resourceVersion])) return;
  const current = await findAgent(ctx, row.id);
  throw versionConflict(row.resourceVersion, current.resourceVersion);
}
