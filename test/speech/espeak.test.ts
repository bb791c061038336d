import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";
import { createEspeakSynthesizer } from "../../src/speech/espeak-synthesizer.js";
import { espeakArguments } from "../../src/speech/espeak-voices.js";
import { createSynthesizer } from "../../src/speech/create-synthesizer.js";
import { maxAudioBytes } from "../../src/speech/synthesizer.js";
import { readWav } from "../../src/speech/wav.js";
import { calm, failureOf, loudnessOf } from "./support.js";

const synthesizer = createSynthesizer({});

async function speak(text: string, voiceName = "Kore"): Promise<Buffer> {
  const { contentType, audio } = await synthesizer.synthesize({ text, voiceName, model: "any" }, calm);
  expect(contentType).to.equal("audio/wav");
  return audio;
}

async function duration(text: string): Promise<number> {
  return readWav(await speak(text)).durationSeconds;
}

const greeting = "Welcome to the museum. How can I help you?";
const long = "你".repeat(2000);

describe("espeak synthesizer", () => {
  after(() => synthesizer.close());

  it("makes a mono WAV that is long enough and not silent", async () => {
    const audio = await speak(greeting);
    const { sampleRate, channels, durationSeconds, dataBytes } = readWav(audio);
    expect({ name: synthesizer.name, sampleRate, channels }).to.deep.equal({
      name: "espeak-ng",
      sampleRate: 22_050,
      channels: 1,
    });
    expect(audio.length).to.equal(44 + dataBytes);
    expect(durationSeconds).to.be.within(1, 6);
    expect(loudnessOf(audio)).to.be.above(500);
  });

  it("gives the same bytes again, from the same worker and from another", async () => {
    const first = await speak(greeting);
    expect((await speak(greeting)).equals(first)).to.equal(true);
    // Left alone, espeak-ng seeds its noise with the second it starts in.
    await sleep(1000 - (Date.now() % 1000));
    const other = createEspeakSynthesizer();
    const { audio } = await other.synthesize({ text: greeting, voiceName: "Kore", model: "other" }, calm);
    await other.close();
    expect(audio.equals(first)).to.equal(true);
  });

  it("gives other audio for another text and for each other voice", async () => {
    const audios = [await speak("Something else altogether.")];
    for (const voice of ["Kore", "Puck", "Zephyr", "Charon", "Fenrir", "A voice of tomorrow"]) {
      audios.push(await speak(greeting, voice));
    }
    expect(new Set(audios.map((audio) => audio.toString("latin1"))).size).to.equal(audios.length);
  });

  it("gives each of Gemini's voices arguments of its own, the same each time", () => {
    const voices =
      "Zephyr Puck Charon Kore Fenrir Leda Orus Aoede Callirrhoe Autonoe Enceladus Iapetus Umbriel Algieba Despina " +
      "Erinome Algenib Rasalgethi Laomedeia Achernar Alnilam Schedar Gacrux Pulcherrima Achird Zubenelgenubi " +
      "Vindemiatrix Sadachbia Sadaltager Sulafat";
    const all = voices.split(" ").map((voice) => espeakArguments("Hello", voice).join(" "));
    expect(new Set(all).size).to.equal(30);
    expect(all.join("\n")).to.not.contain("undefined");
    expect(espeakArguments("Hello", "toString")).to.deep.equal(espeakArguments("Hello", "toString"));
  });

  it("speaks in the language of the script", () => {
    const languages = [
      greeting,
      "Добро пожаловать",
      "مرحبا بكم",
      "שלום",
      "欢迎光临",
      "東京へようこそ",
      "환영합니다",
      "😀",
      "",
    ];
    expect(languages.map((text) => espeakArguments(text, "Kore")[1]!.split("+")[0])).to.deep.equal([
      "en-us",
      "ru",
      "ar",
      "he",
      "cmn",
      "ja",
      "ko",
      "en-us",
      "en-us",
    ]);
  });

  it("speaks any Unicode", async () => {
    const texts = [
      "😀 👨‍👩‍👧‍👦 🏳️‍🌈",
      "مرحبا بكم في متجرنا",
      "\u202eשלום עולם",
      "Ünïcödé ㊿ ½ ‱ 𝔚",
      "-f /text --help",
      "😀".repeat(2000),
    ];
    for (const text of texts) expect(readWav(await speak(text)).durationSeconds, text).to.be.above(0.3);
    for (const text of ["", " \n\t", "\0\u0007\u200b", "\ud83d"])
      expect(readWav(await speak(text)).channels).to.equal(1);
  });

  it("reads markup and phoneme notation as text", async () => {
    const plain = await duration("Hello there");
    expect(await duration("Hello <break time='9s'/> there")).to.be.within(plain + 1, 9);
    expect(await duration("Hello <b>there</b> &amp; [[h@l'oU]]")).to.be.above(plain + 1);
    expect(await duration("[[[[h@l'oU]]]]")).to.be.above(await duration("hello"));
  });

  it("cuts audio at its limit", async () => {
    const audio = await speak("㊿".repeat(2000));
    expect(audio.length).to.equal(maxAudioBytes);
    expect(readWav(audio).dataBytes).to.equal(maxAudioBytes - 44);
  });

  it("leaves the event loop free", async () => {
    await speak("Warm up.");
    let worst = 0;
    let ticks = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
      ticks += 1;
    }, 5);
    const start = performance.now();
    await speak(long);
    const elapsed = performance.now() - start;
    clearInterval(timer);
    expect(elapsed).to.be.above(100);
    expect(ticks).to.be.above(elapsed / 25);
    expect(worst).to.be.below(elapsed / 2);
  });

  it("speaks concurrent texts one after another", async () => {
    const order: number[] = [];
    const texts = [long, "One.", "Two.", "Three."];
    const audios = await Promise.all(
      texts.map(async (text, index) => {
        const audio = await speak(text);
        order.push(index);
        return audio;
      }),
    );
    expect(order).to.deep.equal([0, 1, 2, 3]);
    expect(audios[2]!.equals(await speak("Two."))).to.equal(true);
  });

  it("rejects promptly when aborted, running or waiting, and speaks the next text", async () => {
    const [running, waiting] = [new AbortController(), new AbortController()];
    const request = { text: long, voiceName: "Kore", model: "any" };
    const first = failureOf(synthesizer.synthesize(request, running.signal));
    const second = failureOf(synthesizer.synthesize(request, waiting.signal));
    const third = speak("Still here.");
    waiting.abort();
    expect((await second).message).to.equal("The speech synthesis was aborted.");
    await sleep(100);
    const start = performance.now();
    running.abort(new Error("changed my mind"));
    const failure = await first;
    expect(performance.now() - start).to.be.below(50);
    expect(failure).to.include({ retryable: true, cause: running.signal.reason });
    expect(loudnessOf(await third)).to.be.above(500);
    expect((await failureOf(synthesizer.synthesize(request, running.signal))).retryable).to.equal(true);
  });
});
