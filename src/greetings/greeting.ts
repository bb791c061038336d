import type { Agent } from "../../entities/agent.js";
import { sha256 } from "../keys.js";
import type { Override } from "../schemas/bindings.js";
import type { SynthesisRequest } from "../speech/synthesizer.js";

/** The columns of an agent that decide what it says and whether. */
export type Speaker = Pick<Agent, "greetingEnabled" | "greetingMessage" | "voiceName" | "model">;

/** What an agent says first, at a QR code with this override; null where there is nothing to say. Enabled or not. */
export function greetingOf(agent: Speaker, override: Partial<Override> | null): SynthesisRequest | null {
  const text = override?.greeting_message ?? agent.greetingMessage;
  if (text === null || text.trim() === "") return null;
  return { text, voiceName: override?.voice_name ?? agent.voiceName, model: agent.model };
}

/** What a greeting's audio is kept under: SHA-256 of text, voice and model. */
export function greetingDigest({ text, voiceName, model }: SynthesisRequest): Buffer {
  return sha256(JSON.stringify([text, voiceName, model]));
}

/** Whether an override speaks otherwise than the agent. */
export function changesGreeting(override: Partial<Override> | null): boolean {
  return (override?.greeting_message ?? null) !== null || (override?.voice_name ?? null) !== null;
}

/** Whether a change of an agent calls for other audio, or leaves audio without a text. One on a silent agent does not. */
export function needsGreeting(before: Speaker, after: Speaker): boolean {
  const same =
    before.greetingEnabled === after.greetingEnabled &&
    before.greetingMessage === after.greetingMessage &&
    before.voiceName === after.voiceName &&
    before.model === after.model;
  return !same && after.greetingEnabled;
}
