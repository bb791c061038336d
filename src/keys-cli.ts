import { parseArgs } from "node:util";
import type { DataSource } from "typeorm";
import { ConfigError, readConfig } from "./config.js";
import { openDatabase } from "./database/open.js";
import { createKey, listKeys, REVOKED_CHANNEL, revokeKey, rotateKey } from "./key-store.js";
import { createLogger } from "./logging.js";
import { openRedis } from "./redis.js";
import { ALL_SCOPES, isScope, type Scope } from "./scopes.js";

const USAGE = `Usage:
  npm run --silent keys -- create --owner NAME --scopes all|SCOPE,SCOPE [--name NAME] [--expires 90d]
  npm run --silent keys -- list
  npm run --silent keys -- rotate KEY_ID [--grace 24h]
  npm run --silent keys -- revoke KEY_ID

Scopes: ${ALL_SCOPES.join(" ")}
Durations: 30s, 5m, 24h, 90d
`;

class UsageError extends Error {}

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function parseDuration(text: string, option: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) throw new UsageError(`${option} must be a duration such as 30s, 5m, 24h or 90d.`);
  return Number(match[1]) * (UNIT_MS[match[2] as string] as number);
}

function parseScopes(text: string | undefined): Scope[] {
  if (text === "all") return ALL_SCOPES;
  const names = (text ?? "").split(",").filter((name) => name !== "");
  const unknown = names.find((name) => !isScope(name));
  if (unknown !== undefined) throw new UsageError(`There is no scope ${unknown}.`);
  if (names.length === 0) throw new UsageError("--scopes must be all, or scopes separated by commas.");
  return [...new Set(names)] as Scope[];
}

function parseName(text: string | undefined, option: string): string {
  const name = (text ?? "").trim();
  if (name === "" || [...name].length > 255) throw new UsageError(`${option} must be 1 to 255 characters.`);
  return name;
}

const { values, positionals } = (() => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        owner: { type: "string" },
        scopes: { type: "string" },
        name: { type: "string" },
        expires: { type: "string" },
        grace: { type: "string" },
      },
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
})();

const print = (text: string) => process.stdout.write(`${text}\n`);

/** What a command does once the database is open; its arguments are checked before. */
type Command = (dataSource: DataSource) => Promise<void>;

function create(): Command {
  const ownerName = parseName(values.owner, "--owner");
  const name = parseName(values.name ?? "api key", "--name");
  const scopes = parseScopes(values.scopes);
  const lifetimeMs = values.expires === undefined ? null : parseDuration(values.expires, "--expires");
  if (lifetimeMs === 0) throw new UsageError("--expires must be longer than 0.");
  return async (dataSource) => {
    const expiresAt = lifetimeMs === null ? null : new Date(Date.now() + lifetimeMs).toISOString();
    const key = await createKey(dataSource, { ownerName, name, scopes, expiresAt });
    print(`The key of ${ownerName}; it is shown only now:`);
    print(key);
  };
}

async function list(dataSource: DataSource): Promise<void> {
  const rows = (await listKeys(dataSource)).map((key) => ({
    key_id: key.id,
    owner: key.ownerName,
    name: key.name,
    scopes: key.scopes,
    created: key.createdAt,
    expires: key.expiresAt ?? "never",
    last_used: key.lastUsedAt ?? "never",
    revoked: key.revokedAt ?? "no",
  }));
  for (const row of rows)
    print(
      Object.entries(row)
        .map(([name, value]) => `${name}=${value}`)
        .join("  "),
    );
  if (rows.length === 0) print("There are no keys.");
}

function rotate(keyId: string): Command {
  const grace = values.grace ?? "24h";
  const graceMs = parseDuration(grace, "--grace");
  return async (dataSource) => {
    const key = await rotateKey(dataSource, keyId, graceMs);
    if (key === null) throw new UsageError(`There is no active key ${keyId}.`);
    // Before anything else can fail: it cannot be shown again.
    print(`The key that takes the place of ${keyId}, which ends in ${grace}; it is shown only now:`);
    print(key);
    await announce(keyId);
  };
}

/** Tells every node through Redis, where there is one; without it they notice within 5 s. */
async function announce(keyId: string): Promise<void> {
  const { redisUrl } = config;
  if (redisUrl === undefined) return;
  const redis = openRedis(redisUrl, createLogger({ logLevel: "silent" }));
  for (let tries = 0; tries < 20 && !redis.isReady(); tries++) await new Promise((resolve) => setTimeout(resolve, 25));
  const told = await redis.attempt((client) => client.publish(REVOKED_CHANNEL, keyId));
  if (told === undefined) process.stderr.write("Redis did not answer: nodes notice within 5 seconds.\n");
  await redis.close();
}

function revoke(keyId: string): Command {
  return async (dataSource) => {
    if (!(await revokeKey(dataSource, keyId))) throw new UsageError(`There is no key ${keyId}.`);
    await announce(keyId);
    print(`Key ${keyId} is revoked.`);
  };
}

/** The command that was asked for. Throws UsageError. */
function parseCommand(): Command {
  const [name, ...rest] = positionals;
  if (name === undefined) throw new UsageError("Name a command.");
  if (name === "create" || name === "list") {
    if (rest.length > 0) throw new UsageError(`${name} takes no ${rest[0]}.`);
    return name === "create" ? create() : list;
  }
  if (name !== "rotate" && name !== "revoke") throw new UsageError(`There is no command ${name}.`);
  const [keyId] = rest;
  if (keyId === undefined || rest.length > 1) throw new UsageError(`${name} takes one KEY_ID.`);
  return name === "rotate" ? rotate(keyId) : revoke(keyId);
}

function readConfigOrExit() {
  try {
    // Keys need no signing key; without this, managing them would ask for a secret it never uses.
    return readConfig({ ...process.env, CONTEXT_SIGNING_KEY: "not used by this command" });
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

const config = readConfigOrExit();

async function run(): Promise<void> {
  const command = parseCommand();
  const { database, dataSource } = await openDatabase(config.database, { busyTimeoutMs: 5000 });
  try {
    await command(dataSource);
  } finally {
    await database.close();
  }
}

run().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  if (error instanceof UsageError) process.stderr.write(`\n${USAGE}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
