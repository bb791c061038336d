import { randomBytes } from "node:crypto";
import { toDatabaseTime } from "../../entities/column-types.js";
import { GreetingWork } from "../../entities/greeting-work.js";
import { type Database, type Sql, UniqueViolation } from "../database/sql.js";
import { tableOf } from "../database/table.js";
import { FORGET_FAILED } from "./store.js";

const work = tableOf(GreetingWork);
const LOOK_AHEAD = 8;
const DUE = `SELECT agent_id AS agentId, marked FROM greeting_work
  WHERE due_at <= ? AND (claimed_until IS NULL OR claimed_until < ?) ORDER BY due_at LIMIT ${LOOK_AHEAD}`;
const MARK = "UPDATE greeting_work SET marked = 1, due_at = ? WHERE agent_id = ?";
const CLAIM = `UPDATE greeting_work SET marked = 0, claim = ?, claimed_until = ?
  WHERE agent_id = ? AND marked = ? AND (claimed_until IS NULL OR claimed_until < ?)`;
const MARKED = "SELECT 1 AS marked FROM greeting_work WHERE agent_id = ? AND claim = ? AND marked = 1";
const RENEW = "UPDATE greeting_work SET claimed_until = ? WHERE agent_id = ? AND claim = ?";
const FINISH = "DELETE FROM greeting_work WHERE agent_id = ? AND claim = ? AND marked = 0";
const RELEASE = `UPDATE greeting_work SET claim = NULL, claimed_until = NULL,
  due_at = CASE WHEN marked = 1 THEN due_at ELSE ? END WHERE agent_id = ? AND claim = ?`;

/** The exclusive right to look after one agent's greetings, until it lapses. */
export interface Claim {
  agentId: number;
  /** 16 random bytes. */
  token: Buffer;
}

/** An instant this many milliseconds from now, as the database stores it. */
const timeIn = (ms: number) => toDatabaseTime(new Date(Date.now() + ms).toISOString());

/** Notes, in a mutation's own transaction, that an agent's greetings changed: work that is committed is never lost. */
export async function markGreetings(sql: Sql, agentId: number): Promise<void> {
  const mark = () => sql.run(MARK, [timeIn(0), agentId]);
  if ((await mark()).affected > 0) return;
  const row = { agentId, marked: true, dueAt: new Date().toISOString(), claim: null, claimedUntil: null };
  try {
    await sql.run(work.insert, work.values(row));
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    await mark();
  }
}

/** Takes an agent that is due and nobody's, for `leaseMs`; undefined where there is none. */
export async function claimDue(database: Database, leaseMs: number): Promise<Claim | undefined> {
  const due = await database.read.all<{ agentId: number; marked: number }>(DUE, [timeIn(0), timeIn(0)]);
  while (due.length > 0) {
    // At random, so that several processes seldom try for the same one.
    const [{ agentId, marked }] = due.splice(Math.floor(Math.random() * due.length), 1) as [(typeof due)[number]];
    const token = randomBytes(16);
    const taken = await database.transaction(
      async (sql) => {
        const { affected } = await sql.run(CLAIM, [token, timeIn(leaseMs), agentId, marked, timeIn(0)]);
        if (affected === 1 && marked === 1) await sql.run(FORGET_FAILED, [agentId]);
        return affected === 1;
      },
      { rerunAfterLostCommit: false },
    );
    if (taken) return { agentId, token };
  }
  return undefined;
}

/** Whether the claim is still held; it then lasts another `leaseMs`. In a transaction: nobody takes it before the commit. */
export async function renewClaim(sql: Sql, { agentId, token }: Claim, leaseMs: number): Promise<boolean> {
  return (await sql.run(RENEW, [timeIn(leaseMs), agentId, token])).affected === 1;
}

/** Whether a greeting changed since the agent was claimed. */
export async function isMarked(database: Database, { agentId, token }: Claim): Promise<boolean> {
  return (await database.read.all(MARKED, [agentId, token])).length > 0;
}

/** Ends a claim: the agent is due again in `dueMs`, or at once where it was marked meanwhile; undefined: nothing is left to do. */
export async function endClaim(sql: Sql, { agentId, token }: Claim, dueMs: number | undefined): Promise<void> {
  if (dueMs === undefined && (await sql.run(FINISH, [agentId, token])).affected === 1) return;
  await sql.run(RELEASE, [timeIn(dueMs ?? 0), agentId, token]);
}
