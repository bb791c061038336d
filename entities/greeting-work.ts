import { Column, Entity, Index, PrimaryColumn } from "typeorm";
import { instant } from "./column-types.js";

/** An agent whose greetings are to be looked at: one row however often they changed, so the queue is bounded by the agents. */
@Entity("greeting_work")
@Index("ix_greeting_work_due", ["dueAt"])
export class GreetingWork {
  @PrimaryColumn({ type: "int" })
  agentId: number;

  /** A greeting changed since the worker last took this row. */
  @Column({ type: "boolean" })
  marked: boolean;

  @Column(instant)
  dueAt: string;

  /** Which worker has it, 16 random bytes. */
  @Column({ type: "binary", length: 16, nullable: true })
  claim: Buffer | null;

  /** When the claim lapses unless it is renewed. */
  @Column({ ...instant, nullable: true })
  claimedUntil: string | null;
}
