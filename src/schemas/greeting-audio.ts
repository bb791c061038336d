import { z } from "zod";
import { AgentPath } from "./agents.js";
import { QrPath } from "./qr.js";

/** Input of `agents.greetingAudio`: an agent, and the QR code bound to it whose override is meant, if one is. */
export const GreetingAudioGet = z.strictObject({
  ...AgentPath,
  short_id: QrPath.short_id
    .optional()
    .meta({ description: "A QR code the agent is bound to: what it says first there, its override included." }),
});
export type GreetingAudioGet = z.infer<typeof GreetingAudioGet>;

/** The audio of a greeting; the last two are null unless it is ready. */
export const GreetingAudioResponse = z.strictObject({
  status: z.enum(["none", "pending", "ready", "failed"]),
  content_type: z.string().nullable(),
  audio_base64: z.string().nullable(),
});
export type GreetingAudioResponse = z.infer<typeof GreetingAudioResponse>;
