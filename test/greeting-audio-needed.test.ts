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
import { newAgent } from "./support/owners.js";

const MODEL = "gemini-3.1-flash-live-preview";

onEachBackend("Greeting audio is made where it is needed", (backend) => {
  let running: RunningGateway;
  let listener: Listener;
  const synthesizer = new ScriptedSynthesizer();
  before(async () => {
    running = await startSpeaking(backend, synthesizer);
    listener = await newListener(running);
  });
  beforeEach(() => idle(running));
  after(() => running.stop());

  const asked = async () => {
    await idle(running);
    return synthesizer.asked.splice(0).map(({ text, voiceName, model }) => [text, voiceName, model].join("|"));
  };
  const patch = async (agent: { id: number; resource_version: number }, body: object) =>
    Object.assign(
      agent,
      expectOk(await listener.api.patch(`/v1/agents/${agent.id}`, body, ifMatch(agent.resource_version))),
    );
  const speaking = async (body: object = {}) => {
    const agent = await newAgent(listener, { greeting_message: "Hello", ...body });
    await asked();
    return agent;
  };
  const marks = () =>
    query<{ n: number }>(running, "SELECT COUNT(*) AS n FROM greeting_work").then(([row]) => Number(row?.n));

  it("on create, with a message and greetings enabled", async () => {
    await newAgent(listener, { greeting_message: "Hello" });
    expect(await asked()).to.deep.equal([`Hello|Puck|${MODEL}`]);
    await newAgent(listener, { greeting_message: "Hello", is_active: false, voice_name: "Kore", model: "m" });
    expect(await asked()).to.deep.equal(["Hello|Kore|m"]);
  });

  for (const body of [
    {},
    { greeting_message: null },
    { greeting_message: "" },
    { greeting_message: " \n" },
    { greeting_message: "Hello", greeting_enabled: false },
  ]) {
    it(`not on create with ${JSON.stringify(body)}`, async () => {
      const agent = await newAgent(listener, body);
      expect(await marks()).to.equal(0);
      expect(await asked()).to.deep.equal([]);
      await audioWhen(listener, { agent_id: agent.id }, "none");
    });
  }

  const needed: [change: object, said: string][] = [
    [{ greeting_message: "Good day" }, `Good day|Puck|${MODEL}`],
    [{ greeting_message: "Hello " }, `Hello |Puck|${MODEL}`],
    [{ voice_name: "Kore" }, `Hello|Kore|${MODEL}`],
    [{ voice_name: "puck" }, `Hello|puck|${MODEL}`],
    [{ model: "another" }, "Hello|Puck|another"],
    [{ greeting_message: "Good day", voice_name: "Kore", model: "another", name: "n" }, "Good day|Kore|another"],
  ];
  for (const [change, said] of needed) {
    it(`on an update with ${JSON.stringify(change)}`, async () => {
      const agent = await speaking();
      await patch(agent, change);
      expect(await asked()).to.deep.equal([said]);
      expect(saidIn((await audioWhen(listener, { agent_id: agent.id })).audio)).to.equal(said);
      const rows = await query(running, "SELECT agent_id FROM greeting_audio WHERE agent_id = ?", [agent.id]);
      expect(rows, "superseded audio goes").to.have.lengthOf(1);
    });
  }

  const texts = ["description", "system_prompt", "trigger_message", "tools", "extra_config"];
  const flags = ["trigger_enabled", "email_notifications_enabled", "is_active"];
  const notNeeded: object[] = [
    {},
    { name: "Other" },
    { name: null },
    { turn_coverage: "all" },
    { turn_coverage: null },
    ...texts.flatMap((field) => [{ [field]: "other" }, { [field]: null }]),
    ...flags.flatMap((field) => [{ [field]: true }, { [field]: false }, { [field]: null }]),
    { greeting_message: "Hello" },
    { voice_name: "Puck" },
    { voice_name: null },
    { model: MODEL },
    { model: null },
    { greeting_enabled: true },
    { greeting_enabled: null },
  ];
  it("not on any other update, absent, null or a value: nothing is even queued", async () => {
    const agent = await speaking();
    for (const change of notNeeded) {
      await patch(agent, change);
      const [row] = await query<{ n: number }>(running, "SELECT COUNT(*) AS n FROM greeting_work");
      expect(Number(row?.n), JSON.stringify(change)).to.equal(0);
    }
    expect(await asked()).to.deep.equal([]);
    await audioWhen(listener, { agent_id: agent.id });
  });

  it("not when the message is cleared, and again when it is put back", async () => {
    const agent = await speaking();
    await patch(agent, { greeting_message: null });
    await audioWhen(listener, { agent_id: agent.id }, "none");
    expect(await asked()).to.deep.equal([]);
    expect(await query(running, "SELECT agent_id FROM greeting_audio WHERE agent_id = ?", [agent.id])).to.be.empty;
    await patch(agent, { greeting_message: "Hello" });
    expect(await asked()).to.have.lengthOf(1);
  });

  it("not when greetings are switched off, nor, of the same text, when they are switched on again", async () => {
    const agent = await speaking();
    await patch(agent, { greeting_enabled: false });
    await audioWhen(listener, { agent_id: agent.id }, "none");
    await patch(agent, { greeting_enabled: true });
    await audioWhen(listener, { agent_id: agent.id });
    expect(await asked()).to.deep.equal([]);
  });

  it("of a text changed while greetings were off, once they are on", async () => {
    const agent = await speaking();
    await patch(agent, { greeting_enabled: false });
    await patch(agent, { greeting_message: "Later" });
    expect(await asked()).to.deep.equal([]);
    await patch(agent, { greeting_enabled: true });
    expect(await asked()).to.deep.equal([`Later|Puck|${MODEL}`]);
  });

  it("not for an update that is refused", async () => {
    const agent = await speaking();
    expect((await listener.api.patch(`/v1/agents/${agent.id}`, { greeting_message: "x" }, ifMatch(9))).status).to.equal(
      409,
    );
    expect(
      (await listener.api.patch(`/v1/agents/${agent.id}`, { greeting_message: "x", nme: 1 }, ifMatch(1))).status,
    ).to.equal(422);
    expect(await marks()).to.equal(0);
    expect(await asked()).to.deep.equal([]);
  });

  it("for agents from before there was greeting audio, once the queue is there", async () => {
    const agent = await speaking();
    await query(running, "DELETE FROM greeting_audio WHERE agent_id = ?", [agent.id]);
    const { GreetingAudio1700000001000 } = await import("../entities/migrations/1700000001000-greeting-audio.js");
    const runner = running.gateway.open.dataSource.createQueryRunner();
    await new GreetingAudio1700000001000().up(runner);
    await runner.release();
    await audioWhen(listener, { agent_id: agent.id });
    expect(await asked()).to.deep.equal([`Hello|Puck|${MODEL}`]);
  });
});
