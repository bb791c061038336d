import { withDeadline, type UseConnection } from "./mysql-connection.js";
import { Member, settleMembers, SwapMissed, type Turn } from "./mysql-members.js";
import type { Transaction } from "./mysql-transaction.js";
import { DatabaseUnavailable, type Lock, type Sql, type SqlValue } from "./sql.js";

/** The most works that share a transaction. */
const MAX_MEMBERS = 16;
/** After this many milliseconds a transaction waits for a lock or a far database, and what gathered goes on beside it. */
const STALLED_MS = 5;

interface Queue {
  waiting: Member[];
  running: number;
  timer: NodeJS.Timeout | undefined;
}

/** Runs a work once, in a transaction of its own or shared with others of its group. */
export type RunOnce = <T>(work: (sql: Sql) => Promise<T>, deadline: number, group: number | undefined) => Promise<T>;

/**
 * Group commit: while one transaction of a group runs, the next works gather and then share COMMIT with its flush to disk, and
 * the round trip of BEGIN and the statements they deferred. A work enters on its first write; it holds no connection while it reads.
 */
export function groupCommit(use: UseConnection, read: Pick<Sql, "all">): RunOnce {
  const queues = new Map<number, Queue>();

  function start(group: number, queue: Queue): void {
    clearTimeout(queue.timer);
    queue.running++;
    void settleMembers(use, queue.waiting.splice(0, MAX_MEMBERS)).then(() => {
      queue.running--;
      if (queue.waiting.length > 0) start(group, queue);
      else if (queue.running === 0) queues.delete(group);
    });
    if (queue.waiting.length > 0) startBeside(group, queue);
  }

  function startBeside(group: number, queue: Queue): void {
    queue.timer = setTimeout(() => queue.waiting.length > 0 && start(group, queue), STALLED_MS);
  }

  function enter(member: Member, group: number): void {
    let queue = queues.get(group);
    if (queue === undefined) queues.set(group, (queue = { waiting: [], running: 0, timer: undefined }));
    const entered = queue;
    if (entered.waiting.push(member) > 1) return;
    if (entered.running > 0) startBeside(group, entered);
    else setImmediate(() => entered.waiting.length > 0 && start(group, entered));
  }

  return async (work, deadline, group) => {
    const member = new Member(deadline);
    let turn: Promise<Turn> | undefined;
    let leftBehind = false;
    const myTurn = (): Promise<Turn> => {
      if (leftBehind) return Promise.reject(new DatabaseUnavailable(true));
      if (turn === undefined) {
        turn = member.turn;
        if (group === undefined) void settleMembers(use, [member]);
        else enter(member, group);
      }
      return turn;
    };
    /** For a statement whose result the work waits for: what it deferred comes first. */
    const inTurn = async (): Promise<Transaction> => {
      const { transaction } = await myTurn();
      if (member.swaps.length > 0) {
        member.wrote = true;
        const changed = await transaction.swap(member.swaps.splice(0));
        if (!changed.every(Boolean)) throw new SwapMissed();
      }
      return transaction;
    };
    const sql: Sql = {
      async all<Row>(text: string, values: SqlValue[], lock: Lock = "none") {
        if (turn === undefined && lock === "none") return read.all<Row>(text, values);
        return (await inTurn()).select<Row>(text, values, lock);
      },
      async run(text, values) {
        const result = await (await inTurn()).write(text, values);
        member.wrote = true;
        return result;
      },
      async swap(text, values) {
        if ((await myTurn()).alone) return (await sql.run(text, values)).affected === 1;
        member.swaps.push({ text, values });
        return true;
      },
      async insertLater(into, values) {
        await myTurn();
        member.rows.push([into, values]);
      },
    };
    /** What is read outside has a deadline of its own. A work still at it when its time is over is left behind, and can write no more. */
    const leaveBehind = () => {
      leftBehind = turn === undefined;
      return leftBehind ? new DatabaseUnavailable(true) : undefined;
    };
    try {
      const result = await withDeadline(deadline, () => work(sql), leaveBehind);
      member.finish(undefined);
      if (turn !== undefined) await member.committed;
      return result;
    } catch (error) {
      member.finish(error);
      // A failure counts when the transaction it was seen in has come to its end; an abort takes its place.
      if (turn !== undefined) await member.committed;
      throw error;
    }
  };
}
