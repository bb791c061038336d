import { Column, Entity, Index, PrimaryGeneratedColumn } from "typeorm";
import { instant } from "./column-types.js";

/** One accepted mutation: who changed what, from which version to which. */
@Entity("audit_events")
@Index("ix_audit_events_resource", ["resource", "resourceId"])
export class AuditEvent {
  @PrimaryGeneratedColumn({ type: "bigint" })
  id: string;

  @Column({ type: "int" })
  ownerId: number;

  @Column({ type: "varchar", length: 12 })
  keyId: string;

  @Column({ type: "varchar", length: 128 })
  requestId: string;

  /** tRPC name, for example `qr.update`. */
  @Column({ type: "varchar", length: 64 })
  procedure: string;

  /** `qr`, `agents` or `qr_agent_binding`. */
  @Column({ type: "varchar", length: 32 })
  resource: string;

  /** The short_id, or the agent's id in decimal. */
  @Column({ type: "varchar", length: 32 })
  resourceId: string;

  /** Null on a create. */
  @Column({ type: "int", nullable: true })
  versionBefore: number | null;

  @Column({ type: "int" })
  versionAfter: number;

  @Column(instant)
  createdAt: string;
}
