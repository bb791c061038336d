import { z } from "zod";
import { SynthesisError, type Speech } from "./synthesizer.js";
import { readWav, wrapPcm16 } from "./wav.js";

const Answer = z.object({
  candidates: z
    .array(
      z.object({
        content: z
          .object({
            parts: z
              .array(z.object({ inlineData: z.object({ mimeType: z.string(), data: z.string() }).optional() }))
              .optional(),
          })
          .optional(),
        finishReason: z.string().optional(),
      }),
    )
    .optional(),
  promptFeedback: z.object({ blockReason: z.string().optional() }).optional(),
});

const Refusal = z.object({
  error: z.object({
    status: z.string().optional(),
    message: z.string().optional(),
    details: z.array(z.object({ retryDelay: z.string().optional() })).optional(),
  }),
});

const longestRetryAfterMs = 60 * 60 * 1000;
const finalReasons = new Set(["SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "LANGUAGE"]);

/** The audio in a generateContent answer as a WAV file; throws SynthesisError when there is none. */
export function readSpeech(body: string): Speech {
  const answer = Answer.safeParse(parseJson(body));
  if (!answer.success) throw new SynthesisError("Gemini's answer is not the documented JSON.", { retryable: true });
  const { candidates = [], promptFeedback } = answer.data;
  const audio = (candidates[0]?.content?.parts ?? []).flatMap((part) => part.inlineData ?? []);
  if (audio.length > 0) return { contentType: "audio/wav", audio: toWav(audio) };
  const reason = promptFeedback?.blockReason ?? candidates[0]?.finishReason ?? "no candidate";
  // Without a verdict on the text it is the documented hiccup of a model that answered in words: it may speak next time.
  const final = promptFeedback?.blockReason !== undefined || finalReasons.has(reason);
  throw new SynthesisError(`Gemini answered without audio (${reason}).`, { retryable: !final });
}

/** Why Gemini refused, from its status, headers and `google.rpc.Status` body; 429 and 5xx are retryable. */
export function readRefusal(response: Response, body: string, apiKey: string): SynthesisError {
  const parsed = Refusal.safeParse(parseJson(body));
  const error = parsed.success ? parsed.data.error : undefined;
  const said = [error?.status, error?.message].filter(Boolean).join(": ").replaceAll(apiKey, "[key]").slice(0, 300);
  const retryable = response.status === 429 || response.status >= 500;
  return new SynthesisError(`Gemini answered ${response.status}${said ? ` (${said})` : ""}.`, {
    retryable,
    retryAfterMs: retryable ? readRetryAfter(response.headers.get("retry-after"), error?.details) : undefined,
  });
}

/** Whether a WAV file holds no samples at all. */
export function isEmptyAudio({ audio }: Speech): boolean {
  return readWav(audio).dataBytes === 0;
}

function toWav(parts: { mimeType: string; data: string }[]): Buffer {
  const mimeType = parts[0]!.mimeType.toLowerCase();
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part.data, "base64")));
  // The 3.8 models answer with a WAV file, the earlier ones with bare samples, whose byte order is little-endian despite "L16".
  if (/^audio\/(x-|vnd\.)?wave?\b/.test(mimeType)) return rewrap(bytes);
  if (!/^audio\/(l16|pcm)\b/.test(mimeType)) {
    throw new SynthesisError(`Gemini answered with ${mimeType.slice(0, 60)}, not PCM.`, { retryable: false });
  }
  if (bytes.length % 2 === 1) throw new SynthesisError("Gemini's audio ends in half a sample.", { retryable: true });
  return wrapPcm16(bytes, readParameter(mimeType, "rate") ?? 24_000, readParameter(mimeType, "channels") ?? 1);
}

function rewrap(file: Buffer): Buffer {
  try {
    const { dataOffset, dataBytes, sampleRate, channels } = readWav(file);
    return wrapPcm16(file.subarray(dataOffset, dataOffset + dataBytes), sampleRate, channels);
  } catch (cause) {
    throw new SynthesisError("Gemini's WAV file cannot be read.", { retryable: true, cause });
  }
}

function readParameter(mimeType: string, name: string): number | undefined {
  const digits = new RegExp(`;\\s*${name}=(\\d{1,6})`).exec(mimeType)?.[1];
  return digits && Number(digits) > 0 ? Number(digits) : undefined;
}

function readRetryAfter(
  header: string | null,
  details: { retryDelay?: string | undefined }[] = [],
): number | undefined {
  const delay = details.find((detail) => detail.retryDelay !== undefined)?.retryDelay ?? "";
  const seconds = header ?? /^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1];
  if (!seconds) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(seconds) ? Number(seconds) * 1000 : Date.parse(seconds) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.round(Math.min(Math.max(ms, 0), longestRetryAfterMs));
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
