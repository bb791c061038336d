/** What a statement takes; dates travel as text. */
export type SqlValue = string | number | boolean | Buffer | null;

/** What a write did. */
export interface WriteResult {
  affected: number;
  /** The generated key of an INSERT, else 0. */
  insertId: number;
}

/** What a SELECT does to its rows: nothing, keep others from changing them, or claim them for a change. */
export type Lock = "none" | "share" | "update";

/** An INSERT of one row, in two parts, so that several rows can go into one statement. */
export interface RowInsert {
  /** `INSERT INTO … VALUES (?, …)`. */
  insert: string;
  /** `(?, …)`. */
  places: string;
}

/** Runs prepared statements: on a connection's transaction, or outside of any. The text must be one of a fixed set. */
export interface Sql {
  all<Row>(text: string, values: SqlValue[], lock?: Lock): Promise<Row[]>;
  run(text: string, values: SqlValue[]): Promise<WriteResult>;
  /**
   * Compare-and-swap: an UPDATE of one row, which is false where the row is not as expected. In a shared transaction it may be
   * answered ahead, and sent together with others; where it then changes nothing, the work is run again and told so.
   */
  swap(text: string, values: SqlValue[]): Promise<boolean>;
  /**
   * Inserts a row that nothing in the transaction reads, before it commits and together with others. Where it violates a
   * unique index, the work is run again: it is for rows whose unique values are random.
   */
  insertLater(into: RowInsert, values: SqlValue[]): Promise<void>;
}

/** How a transaction may be run. */
export interface TransactionOptions {
  /** True where running the work again after a COMMIT whose answer was lost cannot double its effects. */
  rerunAfterLostCommit: boolean;
  /** Works of one group may share a transaction; absent for work that locks several rows, and would hold up others. */
  group?: number | undefined;
}

/** Finds single rows of one owner by key. */
export type Lookup<Row> = (ownerId: number, key: SqlValue) => Promise<Row | undefined>;

/** What a look-up asks for. */
export interface LookupOptions<Row> {
  /** A SELECT up to its conditions. */
  select: string;
  /** Conditions besides owner and key. */
  where?: string;
  /** The column that is looked up, and its property in a row. */
  column: string;
  property: string;
  read: (row: unknown) => Row;
}

/** A query whose rows are read into entities. */
export type Query<Row> = (values: SqlValue[]) => Promise<readonly Row[]>;

/** A database of either kind, with one meaning. */
export interface Database {
  /** Reads, in autocommit on the primary; never sees inside an open transaction. */
  read: Sql;
  /** A read like `read` for single rows, which may share statements with others of its turn. */
  lookup<Row>(options: LookupOptions<Row>): Lookup<Row>;
  /** A query like `read`; equal ones of one turn may share a statement, and its rows. */
  query<Row>(text: string, read: (row: unknown) => Row): Query<Row>;
  /**
   * Runs `work` in one READ COMMITTED transaction and commits when it resolves, rolls back when it throws. What it reads
   * without a lock before its first write is read outside. Deadlocks, lock timeouts and lost connections run it again, within
   * one deadline, and so may the failure of another work of its group. Throws DatabaseUnavailable, LockTimeout.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/** The writing half of a `Sql` that only reads. */
export const readOnly: Pick<Sql, "run" | "swap" | "insertLater"> = {
  run: () => Promise.reject(new Error("Writes need a transaction.")),
  swap: () => Promise.reject(new Error("Writes need a transaction.")),
  insertLater: () => Promise.reject(new Error("Writes need a transaction.")),
};

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
