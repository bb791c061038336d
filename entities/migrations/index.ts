import { Initial1700000000000 } from "./1700000000000-initial.js";
import { GreetingAudio1700000001000 } from "./1700000001000-greeting-audio.js";
import { ReceiptsInOrder1700000002000 } from "./1700000002000-receipts-in-order.js";
import { NewestFirst1700000003000 } from "./1700000003000-newest-first.js";

/** Every migration, oldest first. */
export const migrations = [
  Initial1700000000000,
  GreetingAudio1700000001000,
  ReceiptsInOrder1700000002000,
  NewestFirst1700000003000,
];
