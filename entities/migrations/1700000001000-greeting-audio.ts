import { type MigrationInterface, type QueryRunner, Table, type TableOptions } from "typeorm";

const instant = { type: "datetime", precision: 3 };
const optional = { isNullable: true };

/** Adds greeting audio and its queue, and queues every agent that may have something to say. */
export class GreetingAudio1700000001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const mysql = runner.connection.options.type !== "better-sqlite3";
    const text = (length: number) => ({
      type: "varchar",
      length: String(length),
      ...(mysql ? { charset: "utf8mb4", collation: "utf8mb4_bin" } : {}),
    });
    const create = (options: TableOptions) =>
      runner.createTable(new Table({ ...options, ...(mysql ? { engine: "InnoDB" } : {}) }), true);

    await create({
      name: "greeting_audio",
      columns: [
        { name: "agent_id", type: "integer", isPrimary: true },
        { name: "digest", type: "binary", length: "32", isPrimary: true },
        { name: "status", ...text(8) },
        { name: "attempts", type: "integer" },
        { name: "next_attempt_at", ...instant, ...optional },
        { name: "content_type", ...text(64), ...optional },
        { name: "content", type: "mediumblob", ...optional },
      ],
    });
    await create({
      name: "greeting_work",
      columns: [
        { name: "agent_id", type: "integer", isPrimary: true },
        { name: "marked", type: "boolean" },
        { name: "due_at", ...instant },
        { name: "claim", type: "binary", length: "16", ...optional },
        { name: "claimed_until", ...instant, ...optional },
      ],
      indices: [{ name: "ix_greeting_work_due", columnNames: ["due_at"] }],
    });
    // Repeatable, since MySQL keeps what an interrupted migration did.
    await runner.query(`INSERT INTO greeting_work (agent_id, marked, due_at)
      SELECT id, 1, updated_at FROM agents
      WHERE greeting_enabled = 1 AND id NOT IN (SELECT agent_id FROM greeting_work)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ["greeting_work", "greeting_audio"]) await runner.dropTable(table, true);
  }
}
