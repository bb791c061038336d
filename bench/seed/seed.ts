import { NEW_QR } from "../load/operations.js";
import { shortIdOf } from "./short-id.js";
import { openStore, type Row, type Store, type Value } from "./store.js";

/** What a table shall hold. */
export interface Seeding {
  databaseUrl: string;
  table: string;
  /** One API key an owner that is measured. */
  keys: readonly string[];
  port: number;
  /** Rows of each measured owner. */
  rows: number;
  /** All owners; those that are not measured have `FILLER_ROWS` rows each, spread among the others. */
  owners: number;
}

const FILLER_ROWS = 10;
const FILLER_OWNER_ID = 1_000_000;
const ROWS_PER_INSERT = 2000;
const FIRST_CREATED_AT = Date.UTC(2025, 0, 1);

/** A QR code of each measured owner, made by the server itself: what a row must look like, whatever the schema is today. */
async function makeTemplates(store: Store, seeding: Seeding): Promise<Row[]> {
  const templates = [];
  for (const key of seeding.keys) {
    const response = await fetch(`http://127.0.0.1:${seeding.port}/v1/qr`, {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body: NEW_QR,
    });
    const answer: { short_id?: string } = JSON.parse(await response.text());
    const [row] = await store.rows(`SELECT * FROM ${seeding.table} WHERE short_id = ?`, answer.short_id ?? "");
    if (row === undefined) throw new Error(`The server answered ${response.status} to a create, and no row is there.`);
    templates.push(row);
  }
  return templates;
}

function* seededRows(seeding: Seeding, templates: readonly Row[], columns: readonly string[]): Generator<Value[]> {
  let seconds = 0;
  const make = (template: Row, changes: Row): Value[] => {
    const createdAt = new Date(FIRST_CREATED_AT + ++seconds * 1000).toISOString().replace("T", " ").slice(0, 23);
    const row: Row = { ...template, ...changes, created_at: createdAt, updated_at: createdAt };
    return columns.map((column) => row[column] ?? null);
  };
  const fillers = Math.max(0, seeding.owners - templates.length);
  const fillEvery = Math.max(1, Math.floor(seeding.rows / FILLER_ROWS));
  for (let index = 0; index < seeding.rows; index++) {
    for (const [owner, template] of templates.entries()) yield make(template, { short_id: shortIdOf(owner, index) });
    if (index % fillEvery !== 0) continue;
    for (let filler = 0; filler < fillers; filler++) {
      const id = FILLER_OWNER_ID + filler;
      yield make(templates[0] ?? {}, { short_id: shortIdOf(id, index), owner_id: id });
    }
  }
}

async function insertAll(
  store: Store,
  table: string,
  columns: readonly string[],
  rows: Iterable<Value[]>,
): Promise<void> {
  let batch: Value[][] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < ROWS_PER_INSERT) continue;
    await store.insert(table, columns, batch);
    batch = [];
  }
  if (batch.length > 0) await store.insert(table, columns, batch);
}

/** Fills the table as asked, or puts it back as it was where a run before has filled it in the same way. */
export async function seed(seeding: Seeding): Promise<void> {
  const store = await openStore(seeding.databaseUrl);
  const { table } = seeding;
  const columns = (await store.columns(table)).filter((column) => column !== "id");
  const templates = await makeTemplates(store, seeding);
  const owners = templates.map((template) => template["owner_id"]);
  const wanted = JSON.stringify([table, columns, owners, seeding.rows, seeding.owners, NEW_QR]);

  await store.run("CREATE TABLE IF NOT EXISTS bench_seed (wanted VARCHAR(4000), last_id INT)");
  const [done] = await store.rows("SELECT last_id FROM bench_seed WHERE wanted = ?", wanted);
  if (done === undefined) {
    await store.run("DELETE FROM bench_seed");
    await store.run(seeding.databaseUrl.startsWith("sqlite:") ? `DELETE FROM ${table}` : `TRUNCATE TABLE ${table}`);
    await insertAll(store, table, columns, seededRows(seeding, templates, columns));
    const [last] = await store.rows(`SELECT MAX(id) AS id FROM ${table}`);
    await store.run("INSERT INTO bench_seed VALUES (?, ?)", wanted, last?.["id"] ?? 0);
  } else {
    await store.run(`DELETE FROM ${table} WHERE id > ?`, done["last_id"] ?? 0);
    await store.run(`UPDATE ${table} SET resource_version = 1 WHERE resource_version <> 1`);
  }
  await store.run(seeding.databaseUrl.startsWith("sqlite:") ? "ANALYZE" : `ANALYZE TABLE ${table}`);
  await store.close();
}
