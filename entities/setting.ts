import { Column, Entity, PrimaryColumn } from "typeorm";

/** A fact about this installation, for example its id. */
@Entity("settings")
export class Setting {
  @PrimaryColumn({ type: "varchar", length: 64 })
  name: string;

  @Column({ type: "varchar", length: 255 })
  value: string;
}
