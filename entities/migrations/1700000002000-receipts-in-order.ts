import { type MigrationInterface, type QueryRunner, Table, type TableColumnOptions } from "typeorm";

const NAME = "idempotency_receipts";
const COPIED = ["id", "fingerprint", "attempt", "body", "created_at"].join(", ");
const serial: TableColumnOptions = { name: "seq", type: "integer", isPrimary: true, isGenerated: true };
const binary = (name: string, length: number) => ({ name, type: "binary", length: String(length) });

/** SQLite cannot change a primary key: the table is made anew, in the transaction that all migrations share. */
async function rebuild(runner: QueryRunner, inOrder: boolean): Promise<void> {
  await runner.renameTable(NAME, "receipts_before");
  await runner.dropIndex("receipts_before", "ix_idempotency_receipts_created");
  await runner.createTable(
    new Table({
      name: NAME,
      columns: [
        ...(inOrder ? [{ ...serial, generationStrategy: "increment" as const }] : []),
        { ...binary("id", 32), isPrimary: !inOrder },
        binary("fingerprint", 32),
        binary("attempt", 16),
        { name: "body", type: "mediumtext" },
        { name: "created_at", type: "datetime", precision: 3 },
      ],
      indices: [
        { name: "ix_idempotency_receipts_created", columnNames: ["created_at"] },
        ...(inOrder ? [{ name: "ux_idempotency_receipts_id", columnNames: ["id"], isUnique: true }] : []),
      ],
    }),
  );
  await runner.query(`INSERT INTO ${NAME} (${COPIED}) SELECT ${COPIED} FROM receipts_before ORDER BY created_at`);
  await runner.dropTable("receipts_before");
}

/**
 * Stores receipts in the order they come. By their random id each new one touched another page: with a million of them on
 * a 128 MB buffer pool an insert took 107 µs of database CPU, and 57 in order.
 */
export class ReceiptsInOrder1700000002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // MySQL keeps what an interrupted migration did.
    if (await runner.hasColumn(NAME, serial.name)) return;
    if (runner.connection.options.type === "better-sqlite3") return rebuild(runner, true);
    await runner.query(`ALTER TABLE ${NAME} DROP PRIMARY KEY,
      ADD COLUMN seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST,
      ADD UNIQUE INDEX ux_idempotency_receipts_id (id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    if (runner.connection.options.type === "better-sqlite3") return rebuild(runner, false);
    await runner.query(
      `ALTER TABLE ${NAME} DROP COLUMN seq, DROP INDEX ux_idempotency_receipts_id, ADD PRIMARY KEY (id)`,
    );
  }
}
