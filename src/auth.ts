import { timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ApiKey } from "../entities/api-key.js";
import { toDatabaseTime } from "../entities/column-types.js";
import type { Database } from "./database/sql.js";
import { tableOf } from "./database/table.js";
import { ApiError } from "./errors.js";
import { type KeyParts, parseKey } from "./keys.js";
import { isScope, type Scope } from "./scopes.js";

/** Who calls: a valid, active key. */
export interface Caller {
  ownerId: number;
  keyId: string;
  scopes: ReadonlySet<Scope>;
}

interface KnownKey {
  secretHash: Buffer;
  /** Milliseconds since the epoch; Infinity when it never expires. */
  expiresAt: number;
  caller: Caller;
  lastUsedAt: number;
}

/** Below the contract's 5 s after which a revoked key must be refused on every node, with room for a slow read. */
const CACHE_TTL_MS = 4000;
const CACHE_SIZE = 10_000;
const LAST_USED_RESOLUTION_MS = 60_000;

const keys = tableOf(ApiKey);
const FIND_KEY = `SELECT ${keys.select} FROM ${keys.name} WHERE id = ?`;
const TOUCH_KEY = `UPDATE ${keys.name} SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`;

/** Checks API keys. */
export interface Authenticator {
  /** The caller behind a key. Throws AUTHENTICATION_REQUIRED without one, API_KEY_INVALID for one that does not hold. */
  authenticate(text: string | undefined): Promise<Caller>;
  /** Drops what is remembered of a key, so that a revocation counts at once. */
  forget(keyId: string): void;
}

function known(row: ApiKey): KnownKey | null {
  if (row.revokedAt !== null) return null;
  return {
    secretHash: row.secretHash,
    expiresAt: row.expiresAt === null ? Infinity : Date.parse(row.expiresAt),
    caller: { ownerId: row.ownerId, keyId: row.id, scopes: new Set(row.scopes.split(",").filter(isScope)) },
    lastUsedAt: row.lastUsedAt === null ? 0 : Date.parse(row.lastUsedAt),
  };
}

/** Authenticates against the database, remembering each key, unknown ones too, for 4 s. */
export function createAuthenticator(database: Database, onTouchFailed: (error: unknown) => void): Authenticator {
  const cache = new LRUCache<string, Promise<KnownKey | null>>({ max: CACHE_SIZE, ttl: CACHE_TTL_MS });

  function load(id: string): Promise<KnownKey | null> {
    const loading = database.read.all(FIND_KEY, [id]).then(([row]) => (row ? known(keys.read(row)) : null));
    cache.set(id, loading);
    loading.catch(() => cache.delete(id));
    return loading;
  }

  /** Notes the use of a key at most once a minute, behind the answer. */
  function touch(key: KnownKey): void {
    const at = Date.now();
    if (at - key.lastUsedAt < LAST_USED_RESOLUTION_MS) return;
    key.lastUsedAt = at;
    // Another node may have noted it since this one last looked.
    const [atText, before] = [at, at - LAST_USED_RESOLUTION_MS].map((time) =>
      toDatabaseTime(new Date(time).toISOString()),
    );
    const values = [atText as string, key.caller.keyId, before as string];
    database.transaction((sql) => sql.run(TOUCH_KEY, values), { rerunAfterLostCommit: true }).catch(onTouchFailed);
  }

  function holds(key: KnownKey | null, parts: KeyParts): key is KnownKey {
    return key !== null && timingSafeEqual(key.secretHash, parts.secretHash) && Date.now() < key.expiresAt;
  }

  return {
    async authenticate(text) {
      if (text === undefined) throw new ApiError("AUTHENTICATION_REQUIRED");
      const parts = parseKey(text);
      if (parts === null) throw new ApiError("API_KEY_INVALID");
      const key = await (cache.get(parts.id) ?? load(parts.id));
      if (!holds(key, parts)) throw new ApiError("API_KEY_INVALID");
      touch(key);
      return key.caller;
    },
    forget: (keyId) => void cache.delete(keyId),
  };
}
