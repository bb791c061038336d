import { createHash } from "node:crypto";

// Gemini's prebuilt voices by their documented character; the order decides variant and pitch.
const highVoices =
  "Zephyr Kore Leda Aoede Callirrhoe Autonoe Despina Erinome Laomedeia Achernar Gacrux Pulcherrima Vindemiatrix Sulafat";
const lowVoices =
  "Puck Charon Fenrir Orus Enceladus Iapetus Umbriel Algieba Algenib Rasalgethi Alnilam Schedar Achird Zubenelgenubi Sadachbia Sadaltager";

const highVariants = ["f1", "f2", "f3", "f4", "f5"];
const lowVariants = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"];

const knownVoices = new Map([
  ...spread(highVoices.split(" "), highVariants, [50, 70, 90]),
  ...spread(lowVoices.split(" "), lowVariants, [35, 60]),
]);

const languageOfScript: [RegExp, string][] = [
  ["Arabic", "ar"],
  ["Armenian", "hy"],
  ["Bengali", "bn"],
  ["Cyrillic", "ru"],
  ["Devanagari", "hi"],
  ["Ethiopic", "am"],
  ["Georgian", "ka"],
  ["Greek", "el"],
  ["Gujarati", "gu"],
  ["Gurmukhi", "pa"],
  ["Han", "cmn"],
  ["Hangul", "ko"],
  ["Hebrew", "he"],
  ["Hiragana", "ja"],
  ["Kannada", "kn"],
  ["Katakana", "ja"],
  ["Malayalam", "ml"],
  ["Myanmar", "my"],
  ["Sinhala", "si"],
  ["Tamil", "ta"],
  ["Telugu", "te"],
  ["Thai", "th"],
].map(([script, language]) => [new RegExp(`\\p{Script=${script}}`, "gu"), language!]);

/** The espeak-ng arguments that choose a language from the text's script, and a variant and pitch from the voice's name. */
export function espeakArguments(text: string, voiceName: string): string[] {
  const { variant, pitch } = knownVoices.get(voiceName) ?? voiceFromDigest(voiceName);
  return ["-v", `${languageOf(text)}+${variant}`, "-p", String(pitch)];
}

/** The text as espeak-ng must read it: no control characters, and no `[[`, which would begin phoneme notation. */
export function espeakText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, " ").replaceAll(/\[(?=\[)/g, "[ ");
}

function languageOf(text: string): string {
  const counts = new Map([["en-us", count(text, /\p{Script=Latin}/gu)]]);
  for (const [pattern, language] of languageOfScript) {
    counts.set(language, (counts.get(language) ?? 0) + count(text, pattern));
  }
  // Japanese is written mostly in Han characters; its syllabaries are what tells it from Chinese.
  if (counts.get("ja")) counts.set("ja", counts.get("ja")! + counts.get("cmn")!);
  return [...counts].reduce((best, next) => (next[1] > best[1] ? next : best))[0];
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

type Voice = { variant: string; pitch: number };

function spread(names: string[], variants: string[], pitches: number[]): [string, Voice][] {
  return names.map((name, i) => [
    name,
    { variant: variants[i % variants.length]!, pitch: pitches[Math.floor(i / variants.length)]! },
  ]);
}

function voiceFromDigest(voiceName: string): Voice {
  const digest = createHash("sha256").update(voiceName).digest();
  const variants = [...highVariants, ...lowVariants];
  return { variant: variants[digest[0]! % variants.length]!, pitch: 30 + (digest[1]! % 11) * 6 };
}
