import { expect } from "chai";
import { loudnessOf } from "./speech/support.js";
import { readWav } from "../src/speech/wav.js";
import { onEachBackend, type RunningGateway } from "./support/backends.js";
import { audioWhen, type Listener, newListener, startSpeaking } from "./support/greetings.js";
import { expectError, expectOk, ifMatch, send } from "./support/http.js";
import { newAgent, newOwner } from "./support/owners.js";

onEachBackend("Greeting audio, spoken offline", (backend) => {
  let running: RunningGateway;
  let listener: Listener;
  before(async () => {
    running = await startSpeaking(backend);
    listener = await newListener(running);
  });
  after(() => running.stop());

  it("is speech that plays, and other speech once the message changes", async () => {
    const agent = await newAgent(listener, { greeting_message: "Welcome to the harbour house." });
    const first = await audioWhen(listener, { agent_id: agent.id });
    expect(first.content_type).to.equal("audio/wav");
    const { sampleRate, durationSeconds, channels } = readWav(first.audio);
    expect([sampleRate, channels]).to.deep.equal([22_050, 1]);
    expect(durationSeconds).to.be.within(0.8, 6);
    expect(loudnessOf(first.audio)).to.be.greaterThan(300);

    const change = { greeting_message: "Welcome to the mountain hut, and mind the dog that sleeps on the stairs." };
    expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, change, ifMatch(1)));
    const second = await audioWhen(listener, { agent_id: agent.id });
    expect(readWav(second.audio).durationSeconds).to.be.greaterThan(durationSeconds);
    expect(second.audio.equals(first.audio)).to.be.false;
  });

  it("keeps answering while it speaks", async () => {
    const agent = await newAgent(listener, { greeting_message: "All work and no play. ".repeat(90) });
    let slowest = 0;
    for (let status = "pending"; status === "pending";) {
      const start = performance.now();
      expectOk(await send(running.url, { method: "GET", path: "/healthz" }));
      slowest = Math.max(slowest, performance.now() - start);
      ({ status } = await listener.trpc.agents.greetingAudio.query({ agent_id: agent.id }));
    }
    const { audio } = await audioWhen(listener, { agent_id: agent.id });
    expect(readWav(audio).durationSeconds).to.be.greaterThan(60);
    expect(slowest, "milliseconds").to.be.lessThan(500);
  });

  it("is offered by tRPC alone, to keys that may read agents, of the owner's agents", async () => {
    const agent = await newAgent(listener, { greeting_message: "Hello." });
    const path = `/trpc/agents.greetingAudio?input=${encodeURIComponent(JSON.stringify({ agent_id: agent.id }))}`;
    const as = (key: string) => send(running.url, { method: "GET", path, headers: { "X-API-Key": key } });
    const codeFor = async (key: string) => (await as(key)).body.error.data.error.code;
    expect((await as(listener.key)).status).to.equal(200);
    expect(await codeFor((await newOwner(running, ["agents:write"])).key)).to.equal("INSUFFICIENT_SCOPE");
    expect(await codeFor((await newOwner(running)).key)).to.equal("RESOURCE_NOT_FOUND");
    const nobody = await send(running.url, { method: "GET", path });
    expect(nobody.body.error.data.error.code).to.equal("AUTHENTICATION_REQUIRED");

    for (const suffix of ["greeting-audio", "greetingAudio", "greeting_audio"]) {
      expectError(await listener.api.get(`/v1/agents/${agent.id}/${suffix}`), 404, "ROUTE_NOT_FOUND");
    }
    const capabilities = await listener.api.get("/v1/capabilities");
    const document = await listener.api.get("/openapi.json");
    expect(capabilities.text + document.text).to.not.match(/greeting_?audio|audio_base64/i);
  });

  it("refuses what is not its input", async () => {
    const path = (input: unknown) => `/trpc/agents.greetingAudio?input=${encodeURIComponent(JSON.stringify(input))}`;
    const { body } = await listener.api.get(path({ agent_id: "7", voice: "x" }));
    const { issues } = body.error.data.error.details;
    expect(issues.map(({ location, path }: Record<string, string>) => [location, path])).to.have.deep.members([
      ["query", "agent_id"],
      ["query", "voice"],
    ]);
  });

  it("leaves AgentResponse as it is", async () => {
    const agent = await newAgent(listener, { greeting_message: "Hello again." });
    await audioWhen(listener, { agent_id: agent.id });
    expect(expectOk(await listener.api.get(`/v1/agents/${agent.id}`))).to.deep.equal(agent);
    expect(Object.keys(agent)).to.have.lengthOf(19);
  });
});
