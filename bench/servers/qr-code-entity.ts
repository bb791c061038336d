import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from "typeorm";

/** The row of `bench_qr_codes` as TypeORM's documentation would have it. */
@Entity("bench_qr_codes")
export class BenchQrCode {
  @PrimaryGeneratedColumn({ type: "int" })
  id: number;

  @Column({ type: "int", name: "owner_id" })
  ownerId: number;

  @Column({ type: "varchar", name: "short_id", length: 10, unique: true })
  shortId: string;

  @Column({ type: "varchar", length: 255, nullable: true })
  name: string | null;

  @Column({ type: "varchar", length: 2000, nullable: true })
  description: string | null;

  @Column({ type: "varchar", name: "destination_url", length: 2048, nullable: true })
  destinationUrl: string | null;

  @Column({ type: "varchar", name: "external_reference", length: 255, nullable: true })
  externalReference: string | null;

  @Column({ type: "simple-json", name: "property_context", nullable: true })
  propertyContext: object | null;

  @Column({ type: "boolean", name: "is_active" })
  isActive: boolean;

  @Column({ type: "int", name: "resource_version" })
  resourceVersion: number;

  @CreateDateColumn({ type: "datetime", name: "created_at", precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ type: "datetime", name: "updated_at", precision: 3 })
  updatedAt: Date;
}
