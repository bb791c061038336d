import Database from "better-sqlite3";
import { createConnection, type RowDataPacket } from "mysql2/promise";

/** A value as both drivers give and take it; instants are texts `2026-01-31 08:00:00.000`. */
export type Value = string | number | Buffer | null;

/** A row by column name. */
export type Row = Record<string, Value>;

/** The database behind a server, reached beside it: plain SQL for seeding. */
export interface Store {
  /** Rows of a statement with `?` placeholders. */
  rows(sql: string, ...values: Value[]): Promise<Row[]>;
  /** Runs a statement. */
  run(sql: string, ...values: Value[]): Promise<void>;
  /** Columns of a table that may be written: all but generated ones. */
  columns(table: string): Promise<string[]>;
  /** Inserts many rows, values in the order of `columns`. */
  insert(table: string, columns: readonly string[], rows: readonly Value[][]): Promise<void>;
  close(): Promise<void>;
}

/** Opens `mysql://…` or `sqlite:PATH`. */
export function openStore(url: string): Promise<Store> {
  return url.startsWith("sqlite:") ? openSqlite(url.slice("sqlite:".length)) : openMysql(url);
}

async function openMysql(url: string): Promise<Store> {
  const connection = await createConnection({ uri: url, timezone: "Z", dateStrings: true });
  await connection.query("SET foreign_key_checks = 0, unique_checks = 0");
  const rows = async (sql: string, ...values: Value[]) => {
    const [found] = await connection.query<(Row & RowDataPacket)[]>(sql, values);
    return found;
  };
  return {
    rows,
    async run(sql, ...values) {
      await connection.query(sql, values);
    },
    async columns(table) {
      const found = await rows(
        `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?
          AND extra NOT LIKE '%GENERATED%' ORDER BY ordinal_position`,
        table,
      );
      return found.map((row) => String(row["name"]));
    },
    async insert(table, columns, values) {
      await connection.query(`INSERT INTO ${table} (${columns.join(", ")}) VALUES ?`, [values]);
    },
    close: () => connection.end(),
  };
}

async function openSqlite(path: string): Promise<Store> {
  const database = new Database(path, { timeout: 10_000 });
  return {
    async rows(sql, ...values) {
      return database.prepare<Value[], Row>(sql).all(...values);
    },
    async run(sql, ...values) {
      database.prepare(sql).run(...values);
    },
    async columns(table) {
      return database
        .prepare<[string], { name: string }>("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0")
        .all(table)
        .map((column) => column.name);
    },
    async insert(table, columns, values) {
      const marks = columns.map(() => "?").join(", ");
      const statement = database.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`);
      database.transaction(() => {
        for (const row of values) statement.run(...row);
      })();
    },
    async close() {
      database.close();
    },
  };
}
