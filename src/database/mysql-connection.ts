import type { ExecuteValues, Pool, PoolConnection, ResultSetHeader } from "mysql2";
import { DatabaseUnavailable, type Lock, type SqlValue, UniqueViolation, type WriteResult } from "./sql.js";

/** Lock timeout rolls back one statement only, so all of these end in a ROLLBACK and a rerun of the whole work. */
const LOCK_ERRORS = new Set(["ER_LOCK_DEADLOCK", "ER_LOCK_WAIT_TIMEOUT", "ER_CHECKREAD"]);
/** KILL QUERY, and the time limits of MySQL and MariaDB, the last of which the driver has no name for. */
const INTERRUPTIONS = new Set([1317, 3024, 1969]);
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

/** How long a statement waits for a row that another transaction has locked. */
export const LOCK_WAIT_SECONDS = 2;

/** The time for the database was over; what it was doing then is unknown, and the connection of no use. */
class DeadlineExceeded extends Error {
  readonly fatal = true;
}

interface DriverError extends Error {
  code?: string;
  errno?: number | undefined;
  fatal?: boolean;
}

/** Another transaction was in the way; running the whole work again may succeed. */
export const isLocked = (error: unknown): boolean => LOCK_ERRORS.has((error as DriverError).code ?? "");

/** The row stayed locked for `LOCK_WAIT_SECONDS`. */
export const isLockTimeout = (error: unknown): boolean => (error as DriverError).code === "ER_LOCK_WAIT_TIMEOUT";

/** The statement was ended from outside; its connection and its transaction live on. */
export const isInterrupted = (error: unknown): boolean => INTERRUPTIONS.has((error as DriverError).errno ?? 0);

/** The connection, or the server behind it, is gone. */
export const isLost = (error: unknown): boolean =>
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

/** `FOR SHARE` is a syntax error on MariaDB; the older form is known to both. */
const LOCK_TEXTS: Record<Lock, string> = { none: "", share: " LOCK IN SHARE MODE", update: " FOR UPDATE" };

/** Runs a prepared SELECT. */
export function select<Row>(connection: PoolConnection, text: string, values: SqlValue[], lock: Lock): Promise<Row[]> {
  return execute(connection, text + LOCK_TEXTS[lock], values);
}

/** Runs a prepared write. */
export async function write(connection: PoolConnection, text: string, values: SqlValue[]): Promise<WriteResult> {
  const header = await execute<ResultSetHeader>(connection, text, values);
  return { affected: header.affectedRows, insertId: header.insertId };
}

/** Runs BEGIN, COMMIT and the like. */
export function command(connection: PoolConnection, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** A statement and its values. */
export interface Statement {
  text: string;
  values: SqlValue[];
}

/** `START TRANSACTION`, as part of a script. */
export const BEGIN: Statement = { text: "START TRANSACTION", values: [] };

/**
 * Runs statements as one text in one round trip: a packet for each was a third of a PATCH's CPU. What follows a statement
 * that fails is not run. Returns how many rows each changed.
 */
export function script(connection: PoolConnection, statements: readonly Statement[]): Promise<number[]> {
  const text = statements.map((statement) => connection.format(statement.text, statement.values)).join(";");
  return new Promise((resolve, reject) => {
    connection.query<ResultSetHeader | ResultSetHeader[]>(text, (error, result) => {
      if (error) reject(translate(error));
      else resolve([result].flat().map((header) => header.affectedRows));
    });
  });
}

/**
 * Runs `work` against the clock: at `deadline`, in milliseconds since the epoch, it fails with what `late` returns, unless that
 * is nothing. `expired` rejects then too.
 */
export async function withDeadline<T>(
  deadline: number,
  work: (expired: Promise<never>) => Promise<T>,
  late: () => Error | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const failure = late();
      if (failure !== undefined) reject(failure);
    }, deadline - Date.now());
  });
  try {
    return await Promise.race([work(expired), expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** What every connection is told once; `resetOnRelease` is off, so it holds as long as the connection lives. */
const SESSION = [
  `SET time_zone = '+00:00', innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'`,
  "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/**
 * Lends connections of a pool, each prepared once; `deadline` is in milliseconds since the epoch, and `expired` rejects then.
 * Whoever waits for a statement must also wait for that: the driver never answers what was under way on a destroyed connection.
 */
export type UseConnection = <T>(
  deadline: number,
  use: (connection: PoolConnection, expired: Promise<never>) => Promise<T>,
) => Promise<T>;

/** Lends the connections of the pool that TypeORM opened. Throws what the driver throws, and what is lost at the deadline. */
export function connectionsOf(pool: Pool): UseConnection {
  const prepared = new WeakSet<PoolConnection>();

  function prepare(connection: PoolConnection): void {
    if (prepared.has(connection)) return;
    prepared.add(connection);
    // Queued ahead of the first statement; a failure also fails that one, for the connection is gone.
    for (const statement of SESSION) connection.query(statement, (failure) => failure && connection.destroy());
  }

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
        prepare(connection);
        resolve(connection);
      });
    });
  }

  /** A connection that timed out or broke is destroyed, never reused. */
  return async (deadline, use) => {
    const connection = await acquire(deadline);
    try {
      const work = (expired: Promise<never>) => use(connection, expired);
      const result = await withDeadline(deadline, work, () => new DeadlineExceeded());
      connection.release();
      return result;
    } catch (error) {
      if (isLost(error)) connection.destroy();
      else connection.release();
      throw error;
    }
  };
}
