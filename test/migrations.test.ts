import { expect } from "chai";
import { DataSource } from "typeorm";
import { migrations } from "../entities/migrations/index.js";
import { openDatabase } from "../src/database/open.js";
import { connectSql, install, type Installation, onEachBackend, onServers } from "./support/backends.js";
import { readConfig } from "../src/config.js";
import { INSERT_RECEIPT } from "./support/rows.js";
import { pause } from "./support/servers.js";

interface Described {
  columns: string[];
  indices: string[];
}

/** What each entity says its table is. */
function wanted(dataSource: DataSource): Map<string, Described> {
  const { driver } = dataSource;
  return new Map(
    dataSource.entityMetadatas.map((entity) => [
      entity.tableName,
      {
        columns: entity.columns.map((column) =>
          describeColumn(
            column.databaseName,
            // SQLite generates ids for `integer` alone.
            column.isGenerated && driver.options.type === "better-sqlite3" ? "integer" : driver.normalizeType(column),
            driver.getColumnLength(column),
            column.precision,
            column.isNullable,
            column.isGenerated,
          ),
        ),
        indices: entity.indices.map(({ name, isUnique, columns }) =>
          describeIndex(
            name,
            isUnique,
            columns.map((column) => column.databaseName),
          ),
        ),
      },
    ]),
  );
}

function describeColumn(
  name: string,
  type: string,
  length: string,
  precision: number | null | undefined,
  isNullable: boolean,
  isGenerated: boolean,
): string {
  const size = /^(varchar|binary)$/.test(type) ? `(${length})` : type === "datetime" ? `(${precision ?? ""})` : "";
  return `${name} ${type}${size}${isNullable ? "" : " not null"}${isGenerated ? " generated" : ""}`;
}

const describeIndex = (name: string | undefined, isUnique: boolean, columns: string[]) =>
  `${isUnique ? "unique " : ""}${name}(${columns.join(", ")})`;

onEachBackend("Migrations", (backend) => {
  let installation: Installation;
  beforeEach(async () => {
    installation = await install(backend);
  });
  afterEach(() => installation.drop());
  const open = () => openDatabase(readConfig(installation.env).database);

  it("make the very tables that the entities describe: columns, types, lengths, nullability, indexes", async () => {
    const { dataSource, database } = await open();
    const runner = dataSource.createQueryRunner();
    const tables = await runner.getTables([...wanted(dataSource).keys()]);
    await runner.release();
    expect(tables).to.have.length(dataSource.entityMetadatas.length);
    for (const table of tables) {
      const name = table.name.split(".").at(-1) as string;
      const expected = wanted(dataSource).get(name) as Described;
      const columns = table.columns.map((column) =>
        describeColumn(
          column.name,
          column.type === "integer" && backend !== "sqlite" ? "int" : column.type,
          column.length,
          column.precision,
          column.isNullable,
          column.isGenerated,
        ),
      );
      expect(columns, name).to.have.members(expected.columns);
      const indices = table.indices.map((index) => describeIndex(index.name, index.isUnique, index.columnNames));
      expect(indices, name).to.have.members(expected.indices);
    }
    await database.close();
  });

  const onMysql = backend === "sqlite" ? () => undefined : it;
  onMysql("make text columns that tell case and accents apart, in InnoDB", async () => {
    const { dataSource, database } = await open();
    const folding = await dataSource.query(
      "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'migrations' AND collation_name <> 'utf8mb4_bin'",
    );
    expect(folding).to.deep.equal([]);
    const others =
      "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND engine <> 'InnoDB'";
    expect(await dataSource.query(others)).to.deep.equal([]);
    await database.close();
  });

  it("run once, whoever comes next", async () => {
    for (let start = 0; start < 2; start++) {
      const { dataSource, database } = await open();
      expect(await dataSource.query("SELECT * FROM migrations")).to.have.length(migrations.length);
      await database.close();
    }
  });

  it("keep every receipt through the change of their order, and back", async () => {
    const { dataSource, database } = await open();
    const text = "SELECT id, fingerprint, attempt, body, created_at FROM idempotency_receipts ORDER BY id";
    const receipt = (n: number) => [Buffer.alloc(32, n), Buffer.alloc(32, n), Buffer.alloc(16, n), `{"n":${n}}`];
    for (const n of [3, 1, 2]) {
      await dataSource.query(INSERT_RECEIPT, [...receipt(n), "2026-01-01 00:00:00.000"]);
    }
    const before = await dataSource.query(text);
    while (JSON.stringify(await dataSource.query("SELECT * FROM idempotency_receipts")).includes("seq")) {
      await dataSource.undoLastMigration({ transaction: "none" });
    }
    expect(await dataSource.query(text)).to.deep.equal(before);
    await database.close();
    const again = await open();
    expect(await again.dataSource.query(text)).to.deep.equal(before);
    // As after a crash between the change and the note of it.
    await again.dataSource.query("DELETE FROM migrations");
    await again.database.close();
    const third = await open();
    expect(await third.dataSource.query(text)).to.deep.equal(before);
    await third.database.close();
  });

  it("finish what a crash left half done", async () => {
    const { dataSource, database } = await open();
    for (const table of ["audit_events", "agents", "qr_codes"]) await dataSource.query(`DROP TABLE ${table}`);
    await dataSource.query("INSERT INTO owners (name, created_at) VALUES ('kept', '2026-01-01 00:00:00.000')");
    await dataSource.query("DELETE FROM migrations");
    await database.close();
    const again = await open();
    const tables = await again.dataSource.query("SELECT COUNT(*) AS n FROM qr_codes");
    expect(Number(tables[0].n)).to.equal(0);
    expect(await again.dataSource.query("SELECT name FROM owners")).to.deep.equal([{ name: "kept" }]);
    expect(await again.dataSource.query("SELECT * FROM migrations")).to.have.length(migrations.length);
    await again.database.close();
  });
});

onServers("The migration lock", () => {
  it("makes a second process wait for the first, and no other installation", async () => {
    const [installation, other] = [await install("mysql + redis"), await install("mysql + redis")];
    const config = readConfig(installation.env);
    const holder = await connectSql({ config });
    try {
      const name = "CONCAT('qr-voice-gateway.', MD5(DATABASE()))";
      await holder.query(`SELECT GET_LOCK(${name}, 0)`);
      let opened = false;
      const opening = openDatabase(config.database).then((open) => {
        opened = true;
        return open;
      });
      const elsewhere = await openDatabase(readConfig(other.env).database);
      await elsewhere.database.close();
      await pause(300);
      expect(opened).to.equal(false);
      const [tables] = await holder.query("SHOW TABLES");
      expect(tables).to.deep.equal([]);
      await holder.query(`SELECT RELEASE_LOCK(${name})`);
      const { database, dataSource } = await opening;
      expect(
        await dataSource.query("SELECT IS_FREE_LOCK(CONCAT('qr-voice-gateway.', MD5(DATABASE()))) AS free"),
      ).to.deep.equal([{ free: 1 }]);
      await database.close();
    } finally {
      await holder.end();
      await installation.drop();
      await other.drop();
    }
  });
});
