import { Column, Entity, Index, PrimaryGeneratedColumn } from "typeorm";
import { instant } from "./column-types.js";

/** Whom resources belong to; every other row is reached through one. */
@Entity("owners")
@Index("ux_owners_name", ["name"], { unique: true })
export class Owner {
  @PrimaryGeneratedColumn({ type: "int" })
  id: number;

  @Column({ type: "varchar", length: 255 })
  name: string;

  @Column(instant)
  createdAt: string;
}
