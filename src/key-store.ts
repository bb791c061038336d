import { IsNull, type DataSource } from "typeorm";
import { ApiKey } from "../entities/api-key.js";
import { Owner } from "../entities/owner.js";
import { generateKey } from "./keys.js";
import type { Scope } from "./scopes.js";

/** What a new key is to be. */
export interface NewKey {
  ownerName: string;
  name: string;
  scopes: readonly Scope[];
  /** RFC 3339, or null for never. */
  expiresAt: string | null;
}

/** A key as listed: nothing of its secret. */
export type ListedKey = Omit<ApiKey, "secretHash"> & { ownerName: string };

/** The channel on which revoked keys are announced to every node. */
export const REVOKED_CHANNEL = "qrv:revoked-keys";

async function ownerNamed(dataSource: DataSource, name: string): Promise<Owner> {
  const owners = dataSource.getRepository(Owner);
  const found = await owners.findOneBy({ name });
  if (found !== null) return found;
  const createdAt = new Date().toISOString();
  // Two commands may make the same owner at once; whoever comes second finds the first one's.
  await owners.insert({ name, createdAt }).catch(() => undefined);
  return owners.findOneByOrFail({ name });
}

/** Makes a key, and its owner where there is none of that name. Returns the key's text, which is nowhere else. */
export async function createKey(dataSource: DataSource, key: NewKey): Promise<string> {
  const owner = await ownerNamed(dataSource, key.ownerName);
  return insertKey(dataSource, { ...key, ownerId: owner.id });
}

async function insertKey(
  dataSource: DataSource,
  key: Omit<NewKey, "ownerName"> & { ownerId: number },
): Promise<string> {
  const { text, id, secretHash } = generateKey();
  await dataSource.getRepository(ApiKey).insert({
    id,
    ownerId: key.ownerId,
    secretHash,
    name: key.name,
    scopes: key.scopes.join(","),
    createdAt: new Date().toISOString(),
    expiresAt: key.expiresAt,
    lastUsedAt: null,
    revokedAt: null,
  });
  return text;
}

/** Every key, oldest first. */
export async function listKeys(dataSource: DataSource): Promise<ListedKey[]> {
  const owners = await dataSource.getRepository(Owner).find();
  const names = new Map(owners.map((owner) => [owner.id, owner.name]));
  const keys = await dataSource.getRepository(ApiKey).find({ order: { createdAt: "ASC", id: "ASC" } });
  return keys.map(({ secretHash: _secret, ...key }) => ({ ...key, ownerName: names.get(key.ownerId) ?? "" }));
}

/** A new key like an active one, which expires after `graceMs`. Returns null where there is no such active key. */
export async function rotateKey(dataSource: DataSource, id: string, graceMs: number): Promise<string | null> {
  const keys = dataSource.getRepository(ApiKey);
  const old = await keys.findOneBy({ id, revokedAt: IsNull() });
  const isActive = old !== null && (old.expiresAt === null || Date.parse(old.expiresAt) > Date.now());
  if (!isActive) return null;
  const text = await insertKey(dataSource, { ...old, scopes: old.scopes.split(",") as Scope[] });
  const graceEnds = new Date(Date.now() + graceMs).toISOString();
  if (old.expiresAt === null || graceEnds < old.expiresAt) await keys.update({ id }, { expiresAt: graceEnds });
  return text;
}

/** Revokes a key. Returns false where there is no such key. */
export async function revokeKey(dataSource: DataSource, id: string): Promise<boolean> {
  const keys = dataSource.getRepository(ApiKey);
  await keys.update({ id, revokedAt: IsNull() }, { revokedAt: new Date().toISOString() });
  return keys.existsBy({ id });
}
