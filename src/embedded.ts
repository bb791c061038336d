import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ApiKey } from "../entities/api-key.js";
import { Owner } from "../entities/owner.js";
import { now } from "./clock.js";
import type { Database } from "./database/sql.js";
import { tableOf } from "./database/table.js";
import { generateKey } from "./keys.js";
import { ALL_SCOPES } from "./scopes.js";

/** A new file that only the user who runs the gateway may read. */
const PRIVATE = { mode: 0o600, flag: "wx" } as const;

/** The signing key kept beside the database file; made on the first start, and the same for processes starting at once. */
export async function keptSigningKey(databasePath: string): Promise<string> {
  const path = join(dirname(databasePath), "context-signing.key");
  const draft = `${path}.${process.pid}`;
  await rm(draft, { force: true });
  await writeFile(draft, `${randomBytes(32).toString("base64url")}\n`, PRIVATE);
  try {
    // Linked whole: another process, or a crash, never finds the name without its content.
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const key = (await readFile(path, "utf8")).trim();
  if (key === "") throw new Error(`${path} is empty; restore it, or delete it to have a new key made.`);
  return key;
}

const owners = tableOf(Owner);
const keys = tableOf(ApiKey);
const FIRST_OWNER = "first owner";

/**
 * On a first start makes an owner and a key with all scopes, keeps it beside the database file, and returns both; null where
 * there is a key. One transaction looks and makes, so that of processes starting at once only one does.
 */
export function makeFirstKey(database: Database, databasePath: string): Promise<{ key: string; path: string } | null> {
  const path = join(dirname(databasePath), "first-api-key");
  return database.transaction(
    async (sql) => {
      const [known] = await sql.all(`SELECT id FROM ${keys.name} LIMIT 1`, []);
      if (known !== undefined) return null;
      const { text: key, id, secretHash } = generateKey();
      const createdAt = now();
      const { insertId: ownerId } = await sql.run(owners.insert, owners.values({ name: FIRST_OWNER, createdAt }));
      const row = { id, ownerId, secretHash, name: "first key", scopes: ALL_SCOPES.join(","), createdAt };
      await sql.run(keys.insert, keys.values({ ...row, expiresAt: null, lastUsedAt: null, revokedAt: null }));
      // Before the COMMIT: a crash in between makes another key at the next start, and never one that nobody has seen.
      await rm(path, { force: true });
      await writeFile(path, `${key}\n`, PRIVATE);
      return { key, path };
    },
    { rerunAfterLostCommit: false },
  );
}
