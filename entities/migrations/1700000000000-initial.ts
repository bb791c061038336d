import {
  type MigrationInterface,
  type QueryRunner,
  Table,
  type TableColumnOptions,
  type TableIndexOptions,
} from "typeorm";

type Columns = Record<string, Omit<TableColumnOptions, "name">>;

const varchar = (length: number) => ({ type: "varchar", length: String(length) });
const binary = (length: number) => ({ type: "binary", length: String(length) });
const instant = { type: "datetime", precision: 3 };
const int = { type: "integer" };
const boolean = { type: "boolean" };
const text = { type: "text" };
const mediumtext = { type: "mediumtext" };
const optional = { isNullable: true };

const index = (name: string, ...columnNames: string[]): TableIndexOptions => ({ name, columnNames });
const unique = (name: string, ...columnNames: string[]): TableIndexOptions => ({ name, columnNames, isUnique: true });

/** Creates every table. MySQL commits each CREATE by itself, so a rerun after a crash skips the tables that are there. */
export class Initial1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const mysql = runner.connection.options.type !== "better-sqlite3";
    const serial = { isPrimary: true, isGenerated: true, generationStrategy: "increment" as const };
    const bigSerial = { type: mysql ? "bigint" : "integer", ...serial };
    const intSerial = { ...int, ...serial };

    const create = async (name: string, columns: Columns, indices: TableIndexOptions[] = []) => {
      const isText = (type: string) => type === "varchar" || type.endsWith("text");
      const table = new Table({
        name,
        columns: Object.entries(columns).map(([column, options]) => ({
          name: column,
          ...options,
          ...(mysql && isText(options.type) ? { charset: "utf8mb4", collation: "utf8mb4_bin" } : {}),
        })),
        indices,
        ...(mysql ? { engine: "InnoDB" } : {}),
      });
      await runner.createTable(table, true);
    };

    await create("settings", { name: { ...varchar(64), isPrimary: true }, value: varchar(255) });

    await create("owners", { id: intSerial, name: varchar(255), created_at: instant }, [
      unique("ux_owners_name", "name"),
    ]);

    await create(
      "api_keys",
      {
        id: { ...varchar(12), isPrimary: true },
        owner_id: int,
        secret_hash: binary(32),
        name: varchar(255),
        scopes: varchar(255),
        created_at: instant,
        expires_at: { ...instant, ...optional },
        last_used_at: { ...instant, ...optional },
        revoked_at: { ...instant, ...optional },
      },
      [index("ix_api_keys_owner", "owner_id")],
    );

    await create(
      "qr_codes",
      {
        id: intSerial,
        owner_id: int,
        short_id: varchar(10),
        name: { ...varchar(255), ...optional },
        description: { ...varchar(2000), ...optional },
        destination_url: { ...varchar(2048), ...optional },
        external_reference: { ...varchar(255), ...optional },
        external_reference_hash: { ...binary(32), ...optional },
        property_context: { ...text, ...optional },
        is_active: boolean,
        deleted_at: { ...instant, ...optional },
        resource_version: int,
        created_at: instant,
        updated_at: instant,
        paywall_enabled: boolean,
        paywall_price_cents: { ...int, ...optional },
        paywall_currency: varchar(3),
        paywall_product_name: { ...varchar(250), ...optional },
        binding_version: int,
        agent_id: { ...int, ...optional },
        binding_override: { ...mediumtext, ...optional },
        binding_marker: { ...text, ...optional },
        binding_updated_at: instant,
      },
      [
        unique("ux_qr_codes_short_id", "short_id"),
        unique("ux_qr_codes_reference", "owner_id", "external_reference_hash"),
        index("ix_qr_codes_list", "owner_id", "is_active", "created_at", "id"),
        index("ix_qr_codes_agent", "agent_id"),
      ],
    );

    await create(
      "agents",
      {
        id: intSerial,
        owner_id: int,
        name: varchar(255),
        description: { ...varchar(2000), ...optional },
        external_reference: { ...varchar(255), ...optional },
        external_reference_hash: { ...binary(32), ...optional },
        model: varchar(128),
        system_prompt: { ...text, ...optional },
        greeting_message: { ...varchar(2000), ...optional },
        greeting_enabled: boolean,
        trigger_message: { ...varchar(2000), ...optional },
        trigger_enabled: boolean,
        voice_name: varchar(128),
        turn_coverage: varchar(128),
        email_notifications_enabled: boolean,
        tools: { ...text, ...optional },
        extra_config: { ...text, ...optional },
        is_active: boolean,
        resource_version: int,
        created_at: instant,
        updated_at: instant,
      },
      [
        unique("ux_agents_reference", "owner_id", "external_reference_hash"),
        index("ix_agents_list", "owner_id", "created_at", "id"),
        index("ix_agents_active_list", "owner_id", "is_active", "created_at", "id"),
      ],
    );

    await create(
      "idempotency_receipts",
      {
        id: { ...binary(32), isPrimary: true },
        fingerprint: binary(32),
        attempt: binary(16),
        body: mediumtext,
        created_at: instant,
      },
      [index("ix_idempotency_receipts_created", "created_at")],
    );

    await create(
      "audit_events",
      {
        id: bigSerial,
        owner_id: int,
        key_id: varchar(12),
        request_id: varchar(128),
        procedure: varchar(64),
        resource: varchar(32),
        resource_id: varchar(32),
        version_before: { ...int, ...optional },
        version_after: int,
        created_at: instant,
      },
      [index("ix_audit_events_resource", "resource", "resource_id")],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    const tables = ["audit_events", "idempotency_receipts", "agents", "qr_codes", "api_keys", "owners", "settings"];
    for (const table of tables) await runner.dropTable(table, true);
  }
}
