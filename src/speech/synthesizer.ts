/** The most audio one synthesis returns, in bytes; a longer one is cut (offline) or refused (HTTP). */
export const maxAudioBytes = 16 * 1024 * 1024;

/** What to say and how: `voiceName` is a Gemini voice name, `model` the agent's conversation model. */
export type SynthesisRequest = { text: string; voiceName: string; model: string };

/** Finished audio and its media type. */
export type Speech = { contentType: string; audio: Buffer };

/** Turns text into speech; every failure, an abort included, is a SynthesisError. After `close()` every call fails. */
export interface Synthesizer {
  readonly name: string;
  synthesize(request: SynthesisRequest, signal: AbortSignal): Promise<Speech>;
  close(): Promise<void>;
}

/** Why there is no audio; `retryable` when the same request may work later, not before `retryAfterMs` from now if given. */
export class SynthesisError extends Error {
  readonly retryable: boolean;
  readonly retryAfterMs?: number;

  constructor(message: string, details: { retryable: boolean; retryAfterMs?: number | undefined; cause?: unknown }) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "SynthesisError";
    this.retryable = details.retryable;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
  }
}

/** The error of a call whose signal was aborted; retryable, the signal's reason is its cause. */
export function abortedError(signal: AbortSignal): SynthesisError {
  return new SynthesisError("The speech synthesis was aborted.", { retryable: true, cause: signal.reason });
}

/** The error of a call to a closed synthesizer; retryable, since the next process can make the audio. */
export function closedError(): SynthesisError {
  return new SynthesisError("The speech synthesizer is closed.", { retryable: true });
}
