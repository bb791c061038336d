import { Column, Entity, Index, PrimaryColumn } from "typeorm";
import { digest, instant } from "./column-types.js";

/** An API key without its secret: only the SHA-256 of that is kept. */
@Entity("api_keys")
@Index("ix_api_keys_owner", ["ownerId"])
export class ApiKey {
  /** The public half of the key, 12 base62 characters. */
  @PrimaryColumn({ type: "varchar", length: 12 })
  id: string;

  @Column({ type: "int" })
  ownerId: number;

  @Column(digest)
  secretHash: Buffer;

  @Column({ type: "varchar", length: 255 })
  name: string;

  /** Scope names, comma-separated. */
  @Column({ type: "varchar", length: 255 })
  scopes: string;

  @Column(instant)
  createdAt: string;

  @Column({ ...instant, nullable: true })
  expiresAt: string | null;

  /** Exact to a minute. */
  @Column({ ...instant, nullable: true })
  lastUsedAt: string | null;

  @Column({ ...instant, nullable: true })
  revokedAt: string | null;
}
