import type { DataSource, QueryRunner } from "typeorm";

const LOCK_NAME = "qr-voice-gateway.";
const LOCK_WAIT_SECONDS = 60;

/**
 * Runs pending migrations under a lock, so that of several processes starting at once one migrates and the rest wait.
 * `busyTimeoutMs` is what SQLite's connection is left with.
 */
export async function migrate(dataSource: DataSource, busyTimeoutMs: number): Promise<void> {
  if (dataSource.options.type === "better-sqlite3") await migrateSqlite(dataSource, busyTimeoutMs);
  else await migrateMysql(dataSource);
}

/** SQLite: one IMMEDIATE transaction on the shared connection is both the lock and the atomicity of the DDL. */
async function migrateSqlite(dataSource: DataSource, busyTimeoutMs: number): Promise<void> {
  await dataSource.query(`PRAGMA busy_timeout = ${LOCK_WAIT_SECONDS * 1000}`);
  await dataSource.query("BEGIN IMMEDIATE");
  try {
    await dataSource.runMigrations({ transaction: "none" });
    await dataSource.query("COMMIT");
  } catch (error) {
    await dataSource.query("ROLLBACK");
    throw error;
  } finally {
    await dataSource.query(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
}

/** MySQL: TypeORM takes no lock and DDL is not transactional, so a named lock is held on a connection of its own. */
async function migrateMysql(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  await runner.connect();
  try {
    if (!(await lock(runner, "GET_LOCK", LOCK_WAIT_SECONDS))) {
      throw new Error("Another process held the migration lock for a minute.");
    }
    try {
      await dataSource.runMigrations({ transaction: "none" });
    } finally {
      await lock(runner, "RELEASE_LOCK");
    }
  } finally {
    await runner.release();
  }
}

/** Locks are server-wide: the schema in the name keeps installations on one server from waiting for each other. */
async function lock(runner: QueryRunner, call: "GET_LOCK" | "RELEASE_LOCK", ...more: number[]): Promise<boolean> {
  const places = more.map(() => ", ?").join("");
  const text = `SELECT ${call}(CONCAT(?, MD5(DATABASE()))${places}) AS done`;
  const rows: { done: number | string | null }[] = await runner.query(text, [LOCK_NAME, ...more]);
  return Number(rows[0]?.done) === 1;
}
