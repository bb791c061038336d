import { Column, Entity, Index, PrimaryGeneratedColumn } from "typeorm";
import { digest, instant } from "./column-types.js";

/** A voice agent: what answers when a code is scanned. */
@Entity("agents")
@Index("ux_agents_reference", ["ownerId", "externalReferenceHash"], { unique: true })
@Index("ix_agents_list", ["ownerId", "createdAt", "id"])
@Index("ix_agents_active_list", ["ownerId", "isActive", "createdAt", "id"])
export class Agent {
  @PrimaryGeneratedColumn({ type: "int" })
  id: number;

  @Column({ type: "int" })
  ownerId: number;

  @Column({ type: "varchar", length: 255 })
  name: string;

  @Column({ type: "varchar", length: 2000, nullable: true })
  description: string | null;

  @Column({ type: "varchar", length: 255, nullable: true })
  externalReference: string | null;

  /** SHA-256 of the reference, as on a QR code. */
  @Column({ ...digest, nullable: true })
  externalReferenceHash: Buffer | null;

  @Column({ type: "varchar", length: 128 })
  model: string;

  @Column({ type: "text", nullable: true })
  systemPrompt: string | null;

  @Column({ type: "varchar", length: 2000, nullable: true })
  greetingMessage: string | null;

  @Column({ type: "boolean" })
  greetingEnabled: boolean;

  @Column({ type: "varchar", length: 2000, nullable: true })
  triggerMessage: string | null;

  @Column({ type: "boolean" })
  triggerEnabled: boolean;

  @Column({ type: "varchar", length: 128 })
  voiceName: string;

  @Column({ type: "varchar", length: 128 })
  turnCoverage: string;

  @Column({ type: "boolean" })
  emailNotificationsEnabled: boolean;

  @Column({ type: "text", nullable: true })
  tools: string | null;

  @Column({ type: "text", nullable: true })
  extraConfig: string | null;

  @Column({ type: "boolean" })
  isActive: boolean;

  @Column({ type: "int" })
  resourceVersion: number;

  @Column(instant)
  createdAt: string;

  @Column(instant)
  updatedAt: string;
}
