import type { PoolConnection } from "mysql2";
import { BEGIN, command, isLost, script, select, type Statement, write } from "./mysql-connection.js";
import { type Lock, type RowInsert, type SqlValue, UniqueViolation, type WriteResult } from "./sql.js";

/** A deferred row had a unique value that was there already. */
export class DeferredViolation extends Error {}

/** A row to be inserted, with what it is inserted by. */
export type DeferredRow = [into: RowInsert, values: SqlValue[]];

/** One INSERT for all rows of one table. */
function insertsOf(rows: readonly DeferredRow[]): Statement[] {
  const byTable = new Map<RowInsert, SqlValue[][]>();
  for (const [into, values] of rows) {
    const ofTable = byTable.get(into);
    if (ofTable === undefined) byTable.set(into, [values]);
    else ofTable.push(values);
  }
  return [...byTable].map(([{ insert, places }, ofTable]) => ({
    text: insert + `, ${places}`.repeat(ofTable.length - 1),
    values: ofTable.flat(),
  }));
}

/** A transaction that begins together with its first statements, so that BEGIN takes no round trip of its own. */
export class Transaction {
  private begun = false;

  constructor(
    private readonly connection: PoolConnection,
    private readonly expired: Promise<never>,
  ) {}

  private inTime<T>(answer: Promise<T>): Promise<T> {
    return Promise.race([answer, this.expired]);
  }

  /** A statement is never sent before BEGIN was answered, or in one script with it: alone it would commit by itself. */
  private async begin(): Promise<void> {
    if (this.begun) return;
    this.begun = true;
    await this.inTime(command(this.connection, BEGIN.text));
  }

  private async script(statements: readonly Statement[]): Promise<number[]> {
    if (this.begun) return this.inTime(script(this.connection, statements));
    this.begun = true;
    const [, ...affected] = await this.inTime(script(this.connection, [BEGIN, ...statements]));
    return affected;
  }

  async select<Row>(text: string, values: SqlValue[], lock: Lock): Promise<Row[]> {
    await this.begin();
    return this.inTime(select<Row>(this.connection, text, values, lock));
  }

  async write(text: string, values: SqlValue[]): Promise<WriteResult> {
    await this.begin();
    return this.inTime(write(this.connection, text, values));
  }

  /** Runs updates of one row each; returns which of them changed theirs. */
  async swap(statements: readonly Statement[]): Promise<boolean[]> {
    if (statements.length === 0) return [];
    return (await this.script(statements)).map((affected) => affected === 1);
  }

  /** Inserts rows, those of one table in one statement. Throws DeferredViolation. */
  async insert(rows: readonly DeferredRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.script(insertsOf(rows)).catch((error: unknown) => {
      if (!(error instanceof UniqueViolation)) throw error;
      throw new DeferredViolation("A deferred row is there.", { cause: error });
    });
  }

  async commit(): Promise<void> {
    if (this.begun) await command(this.connection, "COMMIT");
  }

  /** Rolls back after `error`; where that one took the connection, the server does so by itself. */
  async rollback(error: unknown): Promise<void> {
    if (!this.begun || isLost(error)) return;
    try {
      await command(this.connection, "ROLLBACK");
    } catch (failure) {
      // The connection must not be lent again: the next BEGIN on it would commit what is left.
      throw Object.assign(failure as Error, { fatal: true });
    }
  }
}
