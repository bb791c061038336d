import "reflect-metadata";
import type BetterSqlite3 from "better-sqlite3";
import type { Pool } from "mysql2";
import { DataSource, DefaultNamingStrategy, type DataSourceOptions } from "typeorm";
import { entities } from "../../entities/index.js";
import { migrations } from "../../entities/migrations/index.js";
import type { DatabaseTarget } from "../config.js";
import { migrate } from "./migrate.js";
import { mysqlDatabase } from "./mysql.js";
import type { Database } from "./sql.js";
import { openReader, sqliteDatabase } from "./sqlite.js";

/** camelCase properties, snake_case columns. */
class SnakeCaseNames extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? propertyName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  }
}

const CONNECT_TIMEOUT_MS = 2000;
const POOL_SIZE = 16;
const QUEUE_LIMIT = 2000;

/** An open database: the fixed statements run on `database`, everything else on TypeORM's `dataSource`. */
export interface OpenDatabase {
  database: Database;
  dataSource: DataSource;
}

function optionsFor(target: DatabaseTarget): DataSourceOptions {
  const shared = {
    entities,
    migrations,
    synchronize: false,
    namingStrategy: new SnakeCaseNames(),
    migrationsTableName: "migrations",
  };
  if (target.kind === "sqlite") {
    return {
      ...shared,
      type: "better-sqlite3",
      database: target.path,
      enableWAL: true,
      prepareDatabase: (connection: BetterSqlite3.Database) => {
        // The build's default with WAL is NORMAL, which loses acknowledged commits at power loss.
        connection.pragma("synchronous = FULL");
      },
    };
  }
  return {
    ...shared,
    type: "mysql",
    host: target.host,
    port: target.port,
    username: target.user,
    password: target.password,
    database: target.database,
    ...(target.tls ? { ssl: {} } : {}),
    timezone: "Z",
    dateStrings: true,
    charset: "utf8mb4",
    // For `script` alone; prepared statements are never several.
    multipleStatements: true,
    poolSize: POOL_SIZE,
    connectTimeout: CONNECT_TIMEOUT_MS,
    extra: { queueLimit: QUEUE_LIMIT, enableKeepAlive: true },
  };
}

interface OpenOptions {
  /** How long SQLite may block this process for another one's lock; 0 where an event loop must not wait. */
  busyTimeoutMs?: number;
}

/** Opens the database and brings its schema up to date. Safe with several processes starting at once. */
export async function openDatabase(target: DatabaseTarget, options: OpenOptions = {}): Promise<OpenDatabase> {
  const dataSource = new DataSource(optionsFor(target));
  if (target.kind === "sqlite") {
    // SQLite takes any type name; TypeORM's list for it lacks those the entities use for MySQL's sake.
    dataSource.driver.supportedDataTypes.push("binary", "mediumtext", "mediumblob");
    dataSource.driver.withLengthColumnTypes.push("binary");
  }
  await dataSource.initialize();
  try {
    await migrate(dataSource, options.busyTimeoutMs ?? 0);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  const close = () => dataSource.destroy();
  if (target.kind === "mysql") {
    const { pool } = dataSource.driver as unknown as { pool: Pool };
    return { dataSource, database: mysqlDatabase(pool, close) };
  }
  const { databaseConnection } = dataSource.driver as unknown as { databaseConnection: BetterSqlite3.Database };
  return { dataSource, database: sqliteDatabase(databaseConnection, openReader(target.path), close) };
}
