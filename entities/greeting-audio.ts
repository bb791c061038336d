import { Column, Entity, PrimaryColumn } from "typeorm";
import { digest, instant } from "./column-types.js";

/**
 * The audio of one greeting of an agent, its own or an override's. Which of an agent's rows are current is never stored: it is
 * those whose digest is that of a greeting as it stands, so that no crash can leave one text with another one's audio.
 */
@Entity("greeting_audio")
export class GreetingAudio {
  @PrimaryColumn({ type: "int" })
  agentId: number;

  /** SHA-256 of text, voice and model. */
  @PrimaryColumn(digest)
  digest: Buffer;

  /** `ready`, `failed` (given up until the greeting changes) or `pending` (an attempt failed, another follows). */
  @Column({ type: "varchar", length: 8 })
  status: "ready" | "failed" | "pending";

  /** Failed ones. */
  @Column({ type: "int" })
  attempts: number;

  /** When a pending one is due again. */
  @Column({ ...instant, nullable: true })
  nextAttemptAt: string | null;

  @Column({ type: "varchar", length: 64, nullable: true })
  contentType: string | null;

  /** At most 8 MiB. */
  @Column({ type: "mediumblob", nullable: true })
  content: Buffer | null;
}
