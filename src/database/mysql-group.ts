import type { PoolConnection } from "mysql2";
import { command, isLocked, isLost, select, type UseConnection, write } from "./mysql-connection.js";
import { type Lock, type RowInsert, type Sql, type SqlValue, UniqueViolation } from "./sql.js";

/** The most works that share a transaction, and the most rows of one deferred INSERT: a prepared text for each number. */
const MAX_MEMBERS = 16;
/** After this many milliseconds a transaction waits for a lock or a far database, and what gathered goes on beside it. */
const STALLED_MS = 5;

/** Another work of the shared transaction failed after it had written; this one is to be run again, alone. */
export class GroupAborted extends Error {}

/** A deferred row had a unique value that was there already. */
export class DeferredViolation extends Error {}

/** The answer to COMMIT did not come. */
export class CommitLost extends Error {}

/** A promise, and the two functions that settle it. */
class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (error: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

/** A work on its way through a shared transaction. */
class Member {
  wrote = false;
  later: [into: RowInsert, values: SqlValue[]][] = [];
  private readonly connection = new Deferred<PoolConnection>();
  private readonly settled = new Deferred<unknown>();
  private readonly outcome = new Deferred<void>();
  readonly turn = this.connection.promise;
  /** Resolves when the work has settled, with what it threw, if anything. */
  readonly finished = this.settled.promise;
  /** Resolves when the transaction has committed. */
  readonly committed = this.outcome.promise;

  constructor(readonly deadline: number) {
    this.committed.catch(() => undefined);
  }
  giveTurn = this.connection.resolve;
  finish = this.settled.resolve;
  commit = this.outcome.resolve;
  abort(error: unknown): void {
    this.connection.reject(error);
    this.outcome.reject(error);
  }
}

const asDeferredViolation = (error: unknown): never => {
  throw error instanceof UniqueViolation ? new DeferredViolation("A deferred row is there.", { cause: error }) : error;
};

/** Inserts the members' deferred rows, those of one table in few statements. */
async function insertDeferred(connection: PoolConnection, rows: Member["later"]): Promise<void> {
  const byTable = new Map<RowInsert, SqlValue[][]>();
  for (const [into, values] of rows) {
    const ofTable = byTable.get(into);
    if (ofTable === undefined) byTable.set(into, [values]);
    else ofTable.push(values);
  }
  for (const [{ insert, places }, ofTable] of byTable) {
    for (let start = 0; start < ofTable.length; start += MAX_MEMBERS) {
      const some = ofTable.slice(start, start + MAX_MEMBERS);
      await write(connection, insert + `, ${places}`.repeat(some.length - 1), some.flat()).catch(asDeferredViolation);
    }
  }
}

/** Runs the members' works one after another in one transaction. Throws GroupAborted, CommitLost, or the only member's failure. */
async function runMembers(use: UseConnection, members: readonly Member[]): Promise<void> {
  let commitSent = false;
  const deadline = Math.min(...members.map((member) => member.deadline));
  try {
    await use(deadline, async (connection) => {
      await command(connection, "START TRANSACTION");
      try {
        const kept = [];
        for (const member of members) {
          member.giveTurn(connection);
          const failure = await member.finished;
          if (failure === undefined) kept.push(...member.later);
          else if (member.wrote || isLocked(failure) || isLost(failure)) throw failure;
        }
        await insertDeferred(connection, kept);
        commitSent = true;
        await command(connection, "COMMIT");
      } catch (error) {
        if (!isLost(error)) await command(connection, "ROLLBACK");
        throw error;
      }
    });
  } catch (error) {
    if (commitSent) throw new CommitLost("The answer to COMMIT did not come.", { cause: error });
    throw members.length === 1 ? error : new GroupAborted("Another work failed.", { cause: error });
  }
}

interface Queue {
  waiting: Member[];
  running: number;
  timer: NodeJS.Timeout | undefined;
}

/** Runs a work once, in a transaction of its own or shared with others of its group. */
export type RunOnce = <T>(work: (sql: Sql) => Promise<T>, deadline: number, group: number | undefined) => Promise<T>;

/**
 * Group commit: while one transaction of a group runs, the next works gather and then share BEGIN, COMMIT with its flush to
 * disk, and the INSERT of their audit rows. A work enters on its first write, so that it holds no connection while it reads.
 */
export function groupCommit(use: UseConnection, read: Pick<Sql, "all">): RunOnce {
  const queues = new Map<number, Queue>();

  async function settle(members: readonly Member[]): Promise<void> {
    try {
      await runMembers(use, members);
      for (const member of members) member.commit();
    } catch (error) {
      for (const member of members) member.abort(error);
    }
  }

  function start(group: number, queue: Queue): void {
    clearTimeout(queue.timer);
    queue.timer = undefined;
    queue.running++;
    void settle(queue.waiting.splice(0, MAX_MEMBERS)).then(() => {
      queue.running--;
      if (queue.waiting.length > 0) start(group, queue);
      else if (queue.running === 0) queues.delete(group);
    });
  }

  function enter(member: Member, group: number): void {
    let queue = queues.get(group);
    if (queue === undefined) queues.set(group, (queue = { waiting: [], running: 0, timer: undefined }));
    const entered = queue;
    if (entered.waiting.push(member) > 1) return;
    const go = () => entered.waiting.length > 0 && start(group, entered);
    if (entered.running === 0) setImmediate(go);
    else entered.timer = setTimeout(go, STALLED_MS);
  }

  return async (work, deadline, group) => {
    const member = new Member(deadline);
    let turn: Promise<PoolConnection> | undefined;
    const myTurn = (): Promise<PoolConnection> => {
      if (turn === undefined) {
        turn = member.turn;
        if (group === undefined) void settle([member]);
        else enter(member, group);
      }
      return turn;
    };
    const sql: Sql = {
      async all<Row>(text: string, values: SqlValue[], lock: Lock = "none") {
        if (turn === undefined && lock === "none") return read.all<Row>(text, values);
        return select<Row>(await myTurn(), text, values, lock);
      },
      async run(text, values) {
        const result = await write(await myTurn(), text, values);
        member.wrote = true;
        return result;
      },
      async insertLater(into, values) {
        await myTurn();
        member.later.push([into, values]);
      },
    };
    try {
      const result = await work(sql);
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
