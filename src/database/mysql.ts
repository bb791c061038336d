import type { ExecuteValues, Pool, PoolConnection, ResultSetHeader } from "mysql2";
import {
  DATABASE_DEADLINE_MS,
  type Database,
  DatabaseUnavailable,
  LockTimeout,
  type Sql,
  type SqlValue,
  type TransactionOptions,
  UniqueViolation,
  type WriteResult,
} from "./sql.js";

const MAX_RERUNS = 3;
const RERUN_BACKOFF_MS = 25;
const LOCK_WAIT_SECONDS = 2;

/** Lock timeout rolls back one statement only, so all of these end in a ROLLBACK and a rerun of the whole work. */
const LOCK_ERRORS = new Set(["ER_LOCK_DEADLOCK", "ER_LOCK_WAIT_TIMEOUT", "ER_CHECKREAD"]);
const LOST_ERRORS = new Set([
  "PROTOCOL_CONNECTION_LOST",
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ER_SERVER_SHUTDOWN",
  "ER_CON_COUNT_ERROR",
  "ER_NEED_REPREPARE",
  "ER_CONNECTION_KILLED",
  "ER_NORMAL_SHUTDOWN",
  "ER_CLIENT_INTERACTION_TIMEOUT",
  "ER_OPTION_PREVENTS_STATEMENT",
  "ER_READ_ONLY_MODE",
]);

class DeadlineExceeded extends Error {}

interface DriverError extends Error {
  code?: string;
  fatal?: boolean;
}

const isLocked = (error: unknown) => LOCK_ERRORS.has((error as DriverError).code ?? "");
const isLost = (error: unknown) =>
  LOST_ERRORS.has((error as DriverError).code ?? "") || (error as DriverError).fatal === true;

/** `Duplicate entry 'x' for key 'qr_codes.ux_short_id'`: the value is the caller's data, only the index is kept. */
function translate(error: DriverError): Error {
  if (error.code !== "ER_DUP_ENTRY") return error;
  return new UniqueViolation(/for key '([^']*)'$/.exec(error.message)?.[1] ?? "", { cause: error });
}

function execute<T>(connection: PoolConnection, text: string, values: SqlValue[]): Promise<T> {
  return new Promise((resolve, reject) => {
    connection.execute(text, values as ExecuteValues, (error, result) => {
      if (error) reject(translate(error));
      else resolve(result as T);
    });
  });
}

function command(connection: PoolConnection, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** `FOR SHARE` is a syntax error on MariaDB; this older form is known to both. */
const LOCKS = { forShare: " LOCK IN SHARE MODE", forUpdate: " FOR UPDATE" };

const sqlOn = (connection: PoolConnection): Sql => ({
  ...LOCKS,
  all: (text, values) => execute(connection, text, values),
  async run(text, values): Promise<WriteResult> {
    const header = await execute<ResultSetHeader>(connection, text, values);
    return { affected: header.affectedRows, insertId: header.insertId };
  },
});

/** What every connection is told once; `resetOnRelease` is off, so it holds as long as the connection lives. */
const SESSION = [
  `SET time_zone = '+00:00', innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'`,
  "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/** Database on MySQL 8.4 or MariaDB, on the pool that TypeORM opened. */
export function mysqlDatabase(pool: Pool, close: () => Promise<void>): Database {
  const prepared = new WeakSet<PoolConnection>();

  function acquire(deadline: number): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      let tooLate = false;
      const timer = setTimeout(() => {
        tooLate = true;
        reject(new DeadlineExceeded());
      }, deadline - Date.now());
      pool.getConnection((error, connection) => {
        clearTimeout(timer);
        // The pool's own refusals carry no code: its queue is full, or it is closed.
        if (error) return reject(error.code === undefined ? new DatabaseUnavailable(true, { cause: error }) : error);
        if (tooLate) return connection.release();
        if (!prepared.has(connection)) {
          prepared.add(connection);
          // Queued ahead of the first statement; a failure also fails that one, for the connection is gone.
          for (const statement of SESSION) connection.query(statement, (failure) => failure && connection.destroy());
        }
        resolve(connection);
      });
    });
  }

  /** Runs `use` on a connection of its own; a connection that timed out or broke is destroyed, never reused. */
  async function onConnection<T>(deadline: number, use: (connection: PoolConnection) => Promise<T>): Promise<T> {
    const connection = await acquire(deadline);
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new DeadlineExceeded()), deadline - Date.now());
    });
    try {
      const result = await Promise.race([use(connection), expired]);
      connection.release();
      return result;
    } catch (error) {
      if (error instanceof DeadlineExceeded || isLost(error)) connection.destroy();
      else connection.release();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** One attempt; `commit.sent` tells the caller whether its failure is ambiguous. */
  async function attempt<T>(work: (sql: Sql) => Promise<T>, deadline: number, commit: { sent: boolean }): Promise<T> {
    return onConnection(deadline, async (connection) => {
      await command(connection, "START TRANSACTION");
      try {
        const result = await work(sqlOn(connection));
        commit.sent = true;
        await command(connection, "COMMIT");
        return result;
      } catch (error) {
        if (!isLost(error)) await command(connection, "ROLLBACK");
        throw error;
      }
    });
  }

  /** Runs `once` again after what a rerun can mend; `commit` is undefined for a read. */
  async function rerun<T>(
    once: () => Promise<T>,
    deadline: number,
    commit?: { sent: boolean } & TransactionOptions,
  ): Promise<T> {
    let outcomeUnknown = false;
    for (let reruns = 0; ; reruns++) {
      try {
        return await once();
      } catch (error) {
        const transient = isLocked(error) || isLost(error);
        if (!transient && !(error instanceof DeadlineExceeded)) throw error;
        // A COMMIT that was answered with a lock error has failed; one without an answer may have been carried out.
        outcomeUnknown ||= commit !== undefined && commit.sent && !isLocked(error);
        if (outcomeUnknown && !commit?.rerunAfterLostCommit) throw new DatabaseUnavailable(false, { cause: error });
        const pause = Math.random() * RERUN_BACKOFF_MS * 2 ** reruns;
        // A lock is not waited for again where the deadline would end the wait: that it is locked says more.
        const needed = (error as DriverError).code === "ER_LOCK_WAIT_TIMEOUT" ? LOCK_WAIT_SECONDS * 1000 : 0;
        const spent = reruns === MAX_RERUNS || Date.now() + pause + needed >= deadline;
        if (spent && isLocked(error)) throw new LockTimeout("The row stayed locked.", { cause: error });
        if (spent || !transient) throw new DatabaseUnavailable(true, { cause: error, outcomeUnknown });
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  return {
    read: {
      ...LOCKS,
      all<Row>(text: string, values: SqlValue[]) {
        const deadline = Date.now() + DATABASE_DEADLINE_MS;
        const once = () => onConnection(deadline, (connection) => execute<Row[]>(connection, text, values));
        return rerun(once, deadline);
      },
      run: () => Promise.reject(new Error("Writes need a transaction.")),
    },

    transaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions) {
      const deadline = Date.now() + DATABASE_DEADLINE_MS;
      const commit = { sent: false, ...options };
      const once = () => {
        commit.sent = false;
        return attempt(work, deadline, commit);
      };
      return rerun(once, deadline, commit);
    },

    close,
  };
}
