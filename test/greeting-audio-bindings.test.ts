import { expect } from "chai";
import { onEachBackend, query, type RunningGateway } from "./support/backends.js";
import {
  audioWhen,
  idle,
  type Listener,
  newListener,
  saidIn,
  ScriptedSynthesizer,
  startSpeaking,
} from "./support/greetings.js";
import { expectOk, ifMatch } from "./support/http.js";
import { newAgent, newQr } from "./support/owners.js";

const MODEL = "gemini-3.1-flash-live-preview";

onEachBackend("Greeting audio of binding overrides", (backend) => {
  let running: RunningGateway;
  let listener: Listener;
  const synthesizer = new ScriptedSynthesizer();
  before(async () => {
    running = await startSpeaking(backend, synthesizer);
    listener = await newListener(running);
  });
  after(() => running.stop());

  const asked = async () => {
    await idle(running);
    return synthesizer.asked.splice(0).map(({ text, voiceName }) => `${text}|${voiceName}`);
  };
  const agentWith = async (body: object = { greeting_message: "Hello" }) => {
    const agent = await newAgent(listener, body);
    await asked();
    return agent;
  };
  const attach = async (agent: { id: number }, override: object | null, version = 1, qr?: { short_id: string }) => {
    const code = qr ?? (await newQr(listener));
    expectOk(
      await listener.api.put(`/v1/qr/${code.short_id}/agent`, { agent_id: agent.id, override }, ifMatch(version)),
    );
    return { agent_id: agent.id, short_id: code.short_id as string };
  };
  const said = async (input: { agent_id: number; short_id?: string }) =>
    saidIn((await audioWhen(listener, input)).audio);
  const rows = async ({ id }: { id: number }) =>
    (await query(running, "SELECT agent_id FROM greeting_audio WHERE agent_id = ?", [id])).length;

  it("is made on attach, with what the override leaves to the agent", async () => {
    const agent = await agentWith();
    const bound = await attach(agent, { greeting_message: "Welcome" });
    expect(await said(bound)).to.equal(`Welcome|Puck|${MODEL}`);
    expect(await said({ agent_id: agent.id })).to.equal(`Hello|Puck|${MODEL}`);
    expect(await said(await attach(agent, { voice_name: "Kore" }))).to.equal(`Hello|Kore|${MODEL}`);
    expect(await asked()).to.have.members(["Welcome|Puck", "Hello|Kore"]);
  });

  it("is the agent's own where the override says nothing of it: nothing is queued", async () => {
    const agent = await agentWith();
    for (const override of [null, {}, { system_prompt: "Be brief." }]) {
      const bound = await attach(agent, override);
      expect(await query(running, "SELECT agent_id FROM greeting_work")).to.be.empty;
      expect(await said(bound)).to.equal(`Hello|Puck|${MODEL}`);
    }
    expect(await asked()).to.be.empty;
  });

  it("is made for an agent that says nothing itself, and not where greetings are off", async () => {
    const silent = await agentWith({});
    expect(await said(await attach(silent, { greeting_message: "Only here" }))).to.match(/^Only here/);
    expect(await asked()).to.deep.equal(["Only here|Puck"]);
    const bare = await attach(silent, { voice_name: "Kore" });
    await audioWhen(listener, bare, "none");
    await audioWhen(listener, { agent_id: silent.id }, "none");
    const off = await agentWith({ greeting_message: "Hello", greeting_enabled: false });
    await audioWhen(listener, await attach(off, { greeting_message: "Never" }), "none");
    expect(await asked()).to.be.empty;
  });

  it("is made once for any number of codes that say the same", async () => {
    const agent = await agentWith();
    const bound = [];
    for (let count = 0; count < 60; count++) bound.push(await attach(agent, { greeting_message: "Same" }));
    for (const input of bound) expect(await said(input)).to.match(/^Same/);
    expect(await asked()).to.deep.equal(["Same|Puck"]);
  });

  it("follows the agent in what it inherits, over more codes than one page", async () => {
    const agent = await agentWith({});
    for (let count = 0; count < 55; count++) await attach(agent, { greeting_message: `Text ${count}` });
    expect(await asked()).to.have.lengthOf(55);
    expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, { voice_name: "Kore" }, ifMatch(1)));
    expect(new Set(await asked())).to.deep.equal(new Set(Array.from({ length: 55 }, (_, n) => `Text ${n}|Kore`)));
    expect(await rows(agent)).to.equal(55);
  });

  it("goes when it is replaced, detached, deactivated or deleted with its code", async () => {
    const ends: ((input: { agent_id: number; short_id: string }) => Promise<unknown>)[] = [
      ({ agent_id, short_id }) => attach({ id: agent_id }, null, 2, { short_id }),
      async ({ short_id }) => attach(await agentWith(), { greeting_message: "There" }, 2, { short_id }),
      ({ short_id }) => listener.api.delete(`/v1/qr/${short_id}/agent`, ifMatch(2)).then(expectOk),
      ({ agent_id }) => listener.api.delete(`/v1/agents/${agent_id}`, ifMatch(1)).then(expectOk),
      ({ short_id }) => listener.api.delete(`/v1/qr/${short_id}`, ifMatch(1)).then(expectOk),
    ];
    for (const end of ends) {
      const agent = await agentWith();
      const bound = await attach(agent, { greeting_message: "Here" });
      await asked();
      expect(await rows(agent)).to.equal(2);
      await end(bound);
      await asked();
      expect(await rows(agent), String(end)).to.equal(1);
    }
  });

  it("is 404 at a code that is not bound to the agent, not there or not the owner's", async () => {
    const [agent, other] = [await agentWith(), await agentWith()];
    const bound = await attach(other, { greeting_message: "Here" });
    const stranger = await newListener(running);
    const codeOf = (as: Listener, input: object) =>
      as.trpc.agents.greetingAudio.query(input as { agent_id: number }).then(
        () => "an answer",
        (error: { data: { error: { code: string } } }) => error.data.error.code,
      );
    expect(await codeOf(listener, { agent_id: agent.id, short_id: bound.short_id })).to.equal("RESOURCE_NOT_FOUND");
    expect(await codeOf(listener, { agent_id: other.id, short_id: "2222222222" })).to.equal("RESOURCE_NOT_FOUND");
    expect(await codeOf(stranger, bound)).to.equal("RESOURCE_NOT_FOUND");
  });
});
