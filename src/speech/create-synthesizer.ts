import { createEspeakSynthesizer } from "./espeak-synthesizer.js";
import { createGeminiSynthesizer } from "./gemini-synthesizer.js";
import type { Synthesizer } from "./synthesizer.js";

/** Which synthesizer to make; `deadlineMs` bounds one synthesis (default 60 000 with Gemini, 10 000 offline). */
export type SynthesizerOptions = {
  geminiApiKey?: string | undefined;
  geminiBaseUrl?: string | undefined;
  geminiTtsModel?: string | undefined;
  deadlineMs?: number | undefined;
};

/** Gemini when there is a key, else espeak-ng offline; throws SynthesisError for a key or URL that cannot be used. */
export function createSynthesizer(options: SynthesizerOptions): Synthesizer {
  const { geminiApiKey, geminiBaseUrl, geminiTtsModel, deadlineMs } = options;
  if (!geminiApiKey) return createEspeakSynthesizer({ deadlineMs });
  return createGeminiSynthesizer({
    apiKey: geminiApiKey,
    baseUrl: geminiBaseUrl,
    ttsModel: geminiTtsModel,
    deadlineMs,
  });
}
