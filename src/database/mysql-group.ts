import { isLocked, isLost, type Statement, type UseConnection } from "./mysql-connection.js";
import { type DeferredRow, Transaction } from "./mysql-transaction.js";
import type { Lock, Sql, SqlValue } from "./sql.js";

/** The most works that share a transaction. */
const MAX_MEMBERS = 16;
/** After this many milliseconds a transaction waits for a lock or a far database, and what gathered goes on beside it. */
const STALLED_MS = 5;

/** The shared transaction was of no use to this work, which is to be run again, alone. */
export class GroupAborted extends Error {}

const MISSED = "A row was not as expected.";

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

/** A work's turn in a transaction; alone in it, nothing need be deferred. */
interface Turn {
  transaction: Transaction;
  alone: boolean;
}

/** A work on its way through a shared transaction. */
class Member {
  wrote = false;
  readonly swaps: Statement[] = [];
  readonly rows: DeferredRow[] = [];
  private readonly gate = new Deferred<Turn>();
  private readonly settled = new Deferred<unknown>();
  private readonly outcome = new Deferred<void>();
  readonly turn = this.gate.promise;
  /** Resolves when the work has settled, with what it threw, if anything. */
  readonly finished = this.settled.promise;
  /** Resolves when the transaction has committed. */
  readonly committed = this.outcome.promise;

  constructor(readonly deadline: number) {
    this.committed.catch(() => undefined);
  }
  giveTurn = this.gate.resolve;
  finish = this.settled.resolve;
  commit = this.outcome.resolve;
  abort(error: unknown): void {
    this.gate.reject(error);
    this.outcome.reject(error);
  }
}

/** Sends the members' deferred swaps; a member of whom one changed nothing has to see that alone. Returns the others. */
async function swapAll(transaction: Transaction, members: readonly Member[]): Promise<Member[]> {
  const changed = await transaction.swap(members.flatMap((member) => member.swaps));
  let next = 0;
  return members.filter((member) => {
    const mine = changed.slice(next, (next += member.swaps.length));
    if (mine.every(Boolean)) return true;
    const missed = new GroupAborted(MISSED);
    if (member.wrote) throw missed;
    member.abort(missed);
    return false;
  });
}

/** Runs the members' works one after another in one transaction. Throws GroupAborted, CommitLost, or the only member's failure. */
async function runMembers(use: UseConnection, members: readonly Member[]): Promise<void> {
  let commitSent = false;
  const deadline = Math.min(...members.map((member) => member.deadline));
  try {
    await use(deadline, async (connection) => {
      const transaction = new Transaction(connection);
      const turn = { transaction, alone: members.length === 1 };
      try {
        const done = [];
        for (const member of members) {
          member.giveTurn(turn);
          const failure = await member.finished;
          if (failure === undefined) done.push(member);
          else if (member.wrote || isLocked(failure) || isLost(failure)) throw failure;
        }
        const kept = await swapAll(transaction, done);
        await transaction.insert(kept.flatMap((member) => member.rows));
        commitSent = true;
        await transaction.commit();
      } catch (error) {
        await transaction.rollback(error);
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
 * Group commit: while one transaction of a group runs, the next works gather and then share COMMIT with its flush to disk, and
 * the round trip of BEGIN and the statements they deferred. A work enters on its first write; it holds no connection while it reads.
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
    let turn: Promise<Turn> | undefined;
    const myTurn = (): Promise<Turn> => {
      if (turn === undefined) {
        turn = member.turn;
        if (group === undefined) void settle([member]);
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
        if (!changed.every(Boolean)) throw new GroupAborted(MISSED);
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
