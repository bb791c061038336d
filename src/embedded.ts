import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DataSource } from "typeorm";
import { createKey, hasNoKeys } from "./key-store.js";
import { ALL_SCOPES } from "./scopes.js";

/** Only the user who runs the gateway may read what is kept beside the database. */
const PRIVATE = { mode: 0o600 };

/** The signing key kept beside the database file; made on the first start, and the same for processes starting at once. */
export async function keptSigningKey(databasePath: string): Promise<string> {
  const path = join(dirname(databasePath), "context-signing.key");
  await writeFile(path, `${randomBytes(32).toString("base64url")}\n`, { ...PRIVATE, flag: "wx" }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
  return (await readFile(path, "utf8")).trim();
}

/** On a first start makes an owner and a key with all scopes, keeps it beside the database file, and returns both. */
export async function makeFirstKey(
  dataSource: DataSource,
  databasePath: string,
): Promise<{ key: string; path: string } | null> {
  if (!(await hasNoKeys(dataSource))) return null;
  const key = await createKey(dataSource, {
    ownerName: "first owner",
    name: "first key",
    scopes: ALL_SCOPES,
    expiresAt: null,
  });
  const path = join(dirname(databasePath), "first-api-key");
  await writeFile(path, `${key}\n`, PRIVATE);
  return { key, path };
}
