import type { Pool } from "mysql2";
import { batchedLookup, sharedQuery } from "./lookup.js";
import {
  connectionsOf,
  isInterrupted,
  isLocked,
  isLockTimeout,
  isLost,
  LOCK_WAIT_SECONDS,
  select,
} from "./mysql-connection.js";
import { groupCommit } from "./mysql-group.js";
import { CommitLost, GroupAborted } from "./mysql-members.js";
import { DeferredViolation } from "./mysql-transaction.js";
import {
  DATABASE_DEADLINE_MS,
  type Database,
  DatabaseUnavailable,
  LockTimeout,
  type Lock,
  readOnly,
  type Sql,
  type SqlValue,
  type TransactionOptions,
} from "./sql.js";

const MAX_RERUNS = 3;
const RERUN_BACKOFF_MS = 25;

/** With less than this left, a try is not begun: it could do nothing but load a database that is in trouble. */
const MIN_TRY_MS = 10;

const mayHelpToRerun = (cause: unknown) =>
  isLocked(cause) || isLost(cause) || isInterrupted(cause) || cause instanceof DeferredViolation;

/** Tries again, at most three times with full jitter, all within one deadline. */
async function rerun<T>(once: () => Promise<T>, deadline: number, rerunAfterLostCommit: boolean): Promise<T> {
  let outcomeUnknown = false;
  for (let reruns = 0; ; reruns++) {
    try {
      return await once();
    } catch (error) {
      const cause = error instanceof CommitLost ? error.cause : error;
      const givenUp = error instanceof DatabaseUnavailable;
      if (!givenUp && !mayHelpToRerun(cause)) throw error;
      // A COMMIT that was answered with a lock error has failed; one without an answer may have been carried out.
      outcomeUnknown ||= error instanceof CommitLost && !isLocked(cause);
      if (outcomeUnknown && !rerunAfterLostCommit) throw new DatabaseUnavailable(false, { cause: error });
      const pause = Math.random() * RERUN_BACKOFF_MS * 2 ** reruns;
      // A lock is not waited for again where the deadline would end the wait: that it is locked says more.
      const needed = isLockTimeout(cause) ? LOCK_WAIT_SECONDS * 1000 : MIN_TRY_MS;
      const spent = givenUp || reruns === MAX_RERUNS || Date.now() + pause + needed >= deadline;
      if (spent && isLocked(cause)) throw new LockTimeout("The row stayed locked.", { cause: error });
      if (spent) throw new DatabaseUnavailable(true, { cause: error, outcomeUnknown });
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Database on MySQL 8.4 or MariaDB, on the pool that TypeORM opened. */
export function mysqlDatabase(pool: Pool, close: () => Promise<void>): Database {
  const use = connectionsOf(pool);

  const read: Sql = {
    ...readOnly,
    all<Row>(text: string, values: SqlValue[], lock: Lock = "none") {
      const deadline = Date.now() + DATABASE_DEADLINE_MS;
      const once = () => use(deadline, (connection) => select<Row>(connection, text, values, lock));
      return rerun(once, deadline, true);
    },
  };
  const runOnce = groupCommit(use, read);

  return {
    read,
    lookup: (options) => batchedLookup(read, options),
    query: (text, readRow) => sharedQuery(read, text, readRow),
    transaction<T>(work: (sql: Sql) => Promise<T>, { group, rerunAfterLostCommit }: TransactionOptions) {
      const deadline = Date.now() + DATABASE_DEADLINE_MS;
      let shared = group;
      const once = async (): Promise<T> => {
        const together = shared;
        shared = undefined;
        try {
          return await runOnce(work, deadline, together);
        } catch (error) {
          if (!(error instanceof GroupAborted)) throw error;
          if (Date.now() + MIN_TRY_MS >= deadline) throw new DatabaseUnavailable(true, { cause: error });
          return runOnce(work, deadline, undefined);
        }
      };
      return rerun(once, deadline, rerunAfterLostCommit);
    },
    close,
  };
}
