import { GreetingAudio } from "../../entities/greeting-audio.js";
import type { Sql } from "../database/sql.js";
import { tableOf } from "../database/table.js";

const audio = tableOf(GreetingAudio);
const REPLACE = audio.insert.replace("INSERT", "REPLACE");
const FIND = `SELECT ${audio.select} FROM greeting_audio WHERE agent_id = ? AND digest = ?`;
const LIST = `SELECT digest, status, attempts, next_attempt_at AS nextAttemptAt FROM greeting_audio WHERE agent_id = ?`;
const DROP = "DELETE FROM greeting_audio WHERE agent_id = ? AND digest = ?";

/** Starts anew with what was given up: of one agent. */
export const FORGET_FAILED = "DELETE FROM greeting_audio WHERE agent_id = ? AND status = 'failed'";

/** An audio row without its content. */
export type AudioState = Pick<GreetingAudio, "digest" | "status" | "attempts" | "nextAttemptAt">;

/** An agent's audio of this digest, or undefined. */
export async function findAudio(sql: Sql, agentId: number, digest: Buffer): Promise<GreetingAudio | undefined> {
  const [row] = await sql.all(FIND, [agentId, digest]);
  return row === undefined ? undefined : audio.read(row);
}

/** All of an agent's audio by digest in hexadecimal, without the content. */
export async function listAudio(sql: Sql, agentId: number): Promise<Map<string, AudioState>> {
  const rows = await sql.all(LIST, [agentId]);
  return new Map(
    rows.map((raw) => {
      const row = audio.read(raw);
      return [row.digest.toString("hex"), row];
    }),
  );
}

/** Writes a row in place of the one with its digest: one statement, so that a reader sees the one or the other. */
export async function saveAudio(sql: Sql, row: GreetingAudio): Promise<void> {
  await sql.run(REPLACE, audio.values(row));
}

/** Deletes audio of digests that no greeting has any more. */
export async function dropAudio(sql: Sql, agentId: number, digests: Buffer[]): Promise<void> {
  for (const digest of digests) await sql.run(DROP, [agentId, digest]);
}
