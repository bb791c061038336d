import { expect } from "chai";
import { SynthesisError } from "../src/speech/synthesizer.js";
import { type BackendName, install, onEachBackend, onServers, query, type RunningGateway } from "./support/backends.js";
import {
  audioWhen,
  idle,
  newListener,
  pause,
  saidIn,
  ScriptedSynthesizer,
  slowly,
  speech,
  startSpeaking,
  typedClient,
} from "./support/greetings.js";
import { expectOk, ifMatch } from "./support/http.js";
import { newAgent } from "./support/owners.js";

const failing = (retryable: boolean, times = Infinity, retryAfterMs?: number) => {
  let left = times;
  return (request: Parameters<typeof speech>[0]) => {
    if (left-- > 0) throw new SynthesisError("It cannot speak.", { retryable, retryAfterMs });
    return speech(request);
  };
};

onEachBackend("Greeting audio, when speaking fails", (backend: BackendName) => {
  let synthesizer: ScriptedSynthesizer;
  let running: RunningGateway;
  beforeEach(async () => {
    synthesizer = new ScriptedSynthesizer();
    running = await startSpeaking(backend, synthesizer);
  });
  afterEach(() => running.stop());

  it("is pending, and made later, with growing pauses", async () => {
    const listener = await newListener(running);
    synthesizer.speak = failing(true, 4);
    const agent = await newAgent(listener, { greeting_message: "Hello" });
    await audioWhen(listener, { agent_id: agent.id }, "pending");
    await audioWhen(listener, { agent_id: agent.id });
    expect(synthesizer.asked).to.have.lengthOf(5);
  });

  it("is failed where trying again is of no use, until the greeting changes", async () => {
    const listener = await newListener(running);
    synthesizer.speak = failing(false, 1);
    const agent = await newAgent(listener, { greeting_message: "Hello" });
    await audioWhen(listener, { agent_id: agent.id }, "failed");
    await pause(300);
    expect(synthesizer.asked).to.have.lengthOf(1);
    expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, { greeting_message: "Hi" }, ifMatch(1)));
    await audioWhen(listener, { agent_id: agent.id });
    expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, { greeting_message: "Hello" }, ifMatch(2)));
    await audioWhen(listener, { agent_id: agent.id });
  });

  it("is failed when it never works, after a bounded number of attempts", async () => {
    const listener = await newListener(running);
    synthesizer.speak = failing(true);
    const agent = await newAgent(listener, { greeting_message: "Hello" });
    await audioWhen(listener, { agent_id: agent.id }, "failed");
    await idle(running);
    expect(synthesizer.asked).to.have.lengthOf(16);
  });

  it("is failed when it is larger than the database takes", async () => {
    const listener = await newListener(running);
    const bytes = (length: number) => () => ({ contentType: "audio/wav", audio: Buffer.alloc(length, 7) });
    synthesizer.speak = bytes(8 * 1024 * 1024 + 1);
    const agent = await newAgent(listener, { greeting_message: "Long" });
    await audioWhen(listener, { agent_id: agent.id }, "failed");
    synthesizer.speak = bytes(8 * 1024 * 1024);
    expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, { greeting_message: "Longest" }, ifMatch(1)));
    expect((await audioWhen(listener, { agent_id: agent.id })).audio).to.have.lengthOf(8 * 1024 * 1024);
  });

  it("waits as long as a spent quota asks for, with every agent's greeting", async () => {
    const listener = await newListener(running);
    synthesizer.speak = failing(true, 1, 800);
    const first = await newAgent(listener, { greeting_message: "One" });
    await audioWhen(listener, { agent_id: first.id }, "pending");
    while (synthesizer.asked.length === 0) await pause(5);
    const start = Date.now();
    const second = await newAgent(listener, { greeting_message: "Two" });
    await audioWhen(listener, { agent_id: second.id });
    expect(Date.now() - start).to.be.greaterThan(600);
    await audioWhen(listener, { agent_id: first.id });
  });

  it("never holds up an update, and gives up an old text for the new one", async () => {
    const listener = await newListener(running);
    synthesizer.speak = slowly(60_000);
    const agent = await newAgent(listener, { greeting_message: "Old" });
    while (synthesizer.asked.length === 0) await pause(5);
    synthesizer.speak = speech;
    const start = Date.now();
    expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, { greeting_message: "New" }, ifMatch(1)));
    expect(Date.now() - start).to.be.lessThan(500);
    expect(saidIn((await audioWhen(listener, { agent_id: agent.id })).audio)).to.match(/^New/);
    expect(Date.now() - start).to.be.lessThan(5000);
  });

  it("keeps a bounded queue through a thousand updates, and the newest text wins", async () => {
    const listener = await newListener(running);
    synthesizer.speak = slowly(150);
    const agent = await newAgent(listener, { greeting_message: "Text 0" });
    let longest = 0;
    for (let version = 1; version <= 1000; version++) {
      const change = { greeting_message: `Text ${version}` };
      expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, change, ifMatch(version)));
      if (version % 50 !== 0) continue;
      const [row] = await query<{ n: number }>(
        running,
        "SELECT (SELECT COUNT(*) FROM greeting_work) + (SELECT COUNT(*) FROM greeting_audio) AS n",
      );
      longest = Math.max(longest, Number(row?.n));
    }
    expect(saidIn((await audioWhen(listener, { agent_id: agent.id })).audio)).to.match(/^Text 1000\|/);
    expect(longest).to.be.lessThan(4);
    expect(synthesizer.mostAtOnce).to.equal(1);
    expect(synthesizer.asked.length).to.be.lessThan(200);
  });

  it("stops without waiting for a long synthesis, and the next process takes it up at once", async () => {
    const installation = await install(backend);
    const slow = new ScriptedSynthesizer();
    slow.speak = slowly(60_000);
    const first = await startSpeaking(backend, slow, installation);
    const listener = await newListener(first);
    const agent = await newAgent(listener, { greeting_message: "Hello" });
    while (slow.asked.length === 0) await pause(5);
    const start = Date.now();
    await first.stop();
    expect(Date.now() - start).to.be.lessThan(1000);
    expect(slow.closed).to.be.true;

    const second = await startSpeaking(backend, new ScriptedSynthesizer(), installation);
    await audioWhen({ trpc: typedClient(second.url, listener.key) }, { agent_id: agent.id });
    expect(Date.now() - start).to.be.lessThan(3000);
    await second.stop();
    await installation.drop();
  });
});

onServers("Greeting audio, with several processes", () => {
  it("makes nothing twice, nor twice at once, with two processes on one queue", async () => {
    const installation = await install("mysql + redis");
    const voices = [new ScriptedSynthesizer(), new ScriptedSynthesizer()];
    for (const voice of voices) voice.speak = slowly(30);
    const both = await Promise.all(voices.map((voice) => startSpeaking("mysql + redis", voice, installation)));
    const listener = await newListener(both[0] as RunningGateway);
    const texts = Array.from({ length: 60 }, (_, index) => `Text ${index}`);
    await Promise.all(texts.map((text) => newAgent(listener, { greeting_message: text })));
    await idle(both[0] as RunningGateway);
    expect(voices.flatMap(({ asked }) => asked.map(({ text }) => text)).sort()).to.deep.equal(texts.sort());
    for (const { asked } of voices) expect(asked.length).to.be.greaterThan(5);
    for (const one of both) await one.stop();
    await installation.drop();
  });
});
