import { Agent } from "./agent.js";
import { ApiKey } from "./api-key.js";
import { AuditEvent } from "./audit-event.js";
import { GreetingAudio } from "./greeting-audio.js";
import { GreetingWork } from "./greeting-work.js";
import { IdempotencyReceipt } from "./idempotency-receipt.js";
import { Owner } from "./owner.js";
import { QrCode } from "./qr-code.js";
import { Setting } from "./setting.js";

/** Every entity, for the data source. */
export const entities = [
  Agent,
  ApiKey,
  AuditEvent,
  GreetingAudio,
  GreetingWork,
  IdempotencyReceipt,
  Owner,
  QrCode,
  Setting,
];
