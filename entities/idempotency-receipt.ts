import { Column, Entity, Index, PrimaryGeneratedColumn } from "typeorm";
import { digest, instant } from "./column-types.js";

/** The result of a keyed mutation, written in its transaction: the unique id is the fence that makes it happen once. */
@Entity("idempotency_receipts")
@Index("ux_idempotency_receipts_id", ["id"], { unique: true })
@Index("ix_idempotency_receipts_created", ["createdAt"])
export class IdempotencyReceipt {
  /** What rows are stored in the order of: the id is random, and would put each on another page. */
  @PrimaryGeneratedColumn({ type: "bigint" })
  seq: string;

  /** SHA-256 of owner, NUL, key. */
  @Column(digest)
  id: Buffer;

  @Column(digest)
  fingerprint: Buffer;

  /** Which request wrote it: tells a commit of mine whose answer was lost from another's. */
  @Column({ type: "binary", length: 16 })
  attempt: Buffer;

  /** The response body as it was sent. */
  @Column({ type: "mediumtext" })
  body: string;

  @Column(instant)
  createdAt: string;
}
