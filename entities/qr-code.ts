import { Column, Entity, Index, PrimaryGeneratedColumn } from "typeorm";
import { digest, instant } from "./column-types.js";

/** A QR code with its paywall and its binding: one row, so that each is read and compared in one statement. */
@Entity("qr_codes")
@Index("ux_qr_codes_short_id", ["shortId"], { unique: true })
@Index("ux_qr_codes_reference", ["ownerId", "externalReferenceHash"], { unique: true })
@Index("ix_qr_codes_list", ["ownerId", "isActive", "createdAt", "id"])
@Index("ix_qr_codes_agent", ["agentId"])
export class QrCode {
  @PrimaryGeneratedColumn({ type: "int" })
  id: number;

  @Column({ type: "int" })
  ownerId: number;

  @Column({ type: "varchar", length: 10 })
  shortId: string;

  @Column({ type: "varchar", length: 255, nullable: true })
  name: string | null;

  @Column({ type: "varchar", length: 2000, nullable: true })
  description: string | null;

  @Column({ type: "varchar", length: 2048, nullable: true })
  destinationUrl: string | null;

  @Column({ type: "varchar", length: 255, nullable: true })
  externalReference: string | null;

  /** SHA-256 of the reference: byte-exact uniqueness, where collations fold case or pad blanks. Null frees it. */
  @Column({ ...digest, nullable: true })
  externalReferenceHash: Buffer | null;

  /** JSON text of an object. */
  @Column({ type: "text", nullable: true })
  propertyContext: string | null;

  /** False on a deleted code too, so that one index serves the list. */
  @Column({ type: "boolean" })
  isActive: boolean;

  @Column({ ...instant, nullable: true })
  deletedAt: string | null;

  @Column({ type: "int" })
  resourceVersion: number;

  @Column(instant)
  createdAt: string;

  @Column(instant)
  updatedAt: string;

  @Column({ type: "boolean" })
  paywallEnabled: boolean;

  @Column({ type: "int", nullable: true })
  paywallPriceCents: number | null;

  @Column({ type: "varchar", length: 3 })
  paywallCurrency: string;

  @Column({ type: "varchar", length: 250, nullable: true })
  paywallProductName: string | null;

  @Column({ type: "int" })
  bindingVersion: number;

  @Column({ type: "int", nullable: true })
  agentId: number | null;

  /** JSON text of the per-QR override. */
  @Column({ type: "mediumtext", nullable: true })
  bindingOverride: string | null;

  /** The signed context of the binding, a compact JWS. */
  @Column({ type: "text", nullable: true })
  bindingMarker: string | null;

  @Column(instant)
  bindingUpdatedAt: string;
}
