import { isLocked, isLost, type Statement, type UseConnection } from "./mysql-connection.js";
import { type DeferredRow, Transaction } from "./mysql-transaction.js";

/** The shared transaction was of no use to this work, which is to be run again, alone. */
export class GroupAborted extends Error {}

/** A swap that was counted on changed nothing. */
export class SwapMissed extends GroupAborted {}

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
export interface Turn {
  transaction: Transaction;
  alone: boolean;
}

/** A work on its way through a shared transaction. */
export class Member {
  wrote = false;
  /** Whether a swap it counted on changed nothing. */
  missed = false;
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

/** Sends the members' deferred swaps. One that changed nothing leaves its member without effect, or fails them all. */
async function swapAll(transaction: Transaction, members: readonly Member[]): Promise<void> {
  const changed = await transaction.swap(members.flatMap((member) => member.swaps));
  let next = 0;
  for (const member of members) {
    const mine = changed.slice(next, (next += member.swaps.length));
    member.missed = !mine.every(Boolean);
    if (member.missed && (member.wrote || mine.some(Boolean))) throw new SwapMissed();
  }
}

/** Runs the members' works one after another in one transaction. Throws GroupAborted, CommitLost, or the only member's failure. */
async function runMembers(use: UseConnection, members: readonly Member[]): Promise<void> {
  let commitSent = false;
  const deadline = Math.min(...members.map((member) => member.deadline));
  try {
    await use(deadline, async (connection, expired) => {
      const transaction = new Transaction(connection, expired);
      const turn = { transaction, alone: members.length === 1 };
      try {
        const done = [];
        for (const member of members) {
          member.giveTurn(turn);
          const failure = await member.finished;
          if (failure === undefined) done.push(member);
          else if (member.wrote || isLocked(failure) || isLost(failure)) throw failure;
        }
        await swapAll(transaction, done);
        await transaction.insert(done.flatMap((member) => (member.missed ? [] : member.rows)));
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

/** Runs works in one transaction and tells each what became of it. */
export async function settleMembers(use: UseConnection, members: readonly Member[]): Promise<void> {
  try {
    await runMembers(use, members);
    for (const member of members) {
      if (member.missed) member.abort(new SwapMissed());
      else member.commit();
    }
  } catch (error) {
    for (const member of members) member.abort(error);
  }
}
