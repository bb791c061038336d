/** What a statement takes; dates travel as text. */
export type SqlValue = string | number | boolean | Buffer | null;

/** What a write did. */
export interface WriteResult {
  affected: number;
  /** The generated key of an INSERT, else 0. */
  insertId: number;
}

/** Runs prepared statements: on a connection's transaction, or outside of any. The text must be one of a fixed set. */
export interface Sql {
  /** Ends a SELECT whose rows must not change until the transaction ends; empty where one writer at a time is the rule. */
  readonly forShare: string;
  /** Ends a SELECT whose rows the transaction is about to change. */
  readonly forUpdate: string;
  all<Row>(text: string, values: SqlValue[]): Promise<Row[]>;
  run(text: string, values: SqlValue[]): Promise<WriteResult>;
}

/** How a transaction may be repeated. */
export interface TransactionOptions {
  /** True where running the work again after a COMMIT whose answer was lost cannot double its effects. */
  rerunAfterLostCommit: boolean;
}

/** A database of either kind, with one meaning. */
export interface Database {
  /** Reads in autocommit on the primary; never sees inside an open transaction. */
  read: Sql;
  /**
   * Runs `work` in one READ COMMITTED transaction and commits when it resolves, rolls back when it throws.
   * Deadlocks, lock timeouts and lost connections run it again, within one deadline.
   * Throws DatabaseUnavailable when the database does not answer in time.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/** The whole time an operation may spend on the database, reruns included, in milliseconds. */
export const DATABASE_DEADLINE_MS = 5000;

/** The database did not answer in time. */
export class DatabaseUnavailable extends Error {
  /** True where a COMMIT was sent and never answered. */
  readonly outcomeUnknown: boolean;

  /** `retrySafe` is false where a COMMIT was lost and sending the request again could do it twice. */
  constructor(
    readonly retrySafe: boolean,
    options: ErrorOptions & { outcomeUnknown?: boolean } = {},
  ) {
    super("The database did not answer in time.", options);
    this.outcomeUnknown = options.outcomeUnknown ?? !retrySafe;
  }
}

/** A row with this unique value is there already; `index` is the name of the violated index. */
export class UniqueViolation extends Error {
  constructor(
    readonly index: string,
    options?: ErrorOptions,
  ) {
    super(`Unique index ${index} was violated.`, options);
  }
}

/** Somebody else held a lock on the row for too long, reruns included. */
export class LockTimeout extends Error {}
