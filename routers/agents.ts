import { z } from "zod";
import {
  AgentCreate,
  AgentDeactivateResponse,
  AgentDelete,
  AgentGet,
  AgentList,
  AgentListResponse,
  AgentResponse,
  AgentUpdate,
} from "../src/schemas/agents.js";
import { ExternalReferencePath } from "../src/schemas/fields.js";
import { GreetingAudioGet, GreetingAudioResponse } from "../src/schemas/greeting-audio.js";
import {
  createAgent,
  deactivateAgent,
  getAgent,
  getAgentByReference,
  listAgents,
  updateAgent,
} from "../src/services/agents.js";
import { getGreetingAudio } from "../src/services/greeting-audio.js";
import { internalQuery, operation, router } from "../src/trpc.js";

/** Voice agents. */
export const agents = router({
  create: operation("POST", "/v1/agents", {
    can: ["agents", "create"],
    scopes: ["agents:write"],
    idempotent: true,
    summary: "Create a voice agent",
  })
    .input(AgentCreate)
    .output(AgentResponse)
    .mutation(({ ctx, input }) => createAgent(ctx, input)),

  list: operation("GET", "/v1/agents", {
    can: ["agents", "list"],
    scopes: ["agents:read"],
    summary: "List voice agents",
    description: "Newest first; the order is stable between pages. Inactive agents only with `include_inactive=true`.",
  })
    .input(AgentList)
    .output(AgentListResponse)
    .query(({ ctx, input }) => listAgents(ctx, input)),

  get: operation("GET", "/v1/agents/{agent_id}", {
    can: ["agents", "read"],
    scopes: ["agents:read"],
    summary: "Read a voice agent",
  })
    .input(AgentGet)
    .output(AgentResponse)
    .query(({ ctx, input }) => getAgent(ctx, input)),

  getByExternalReference: operation("GET", "/v1/agents/by-external-reference/{external_reference}", {
    can: ["agents", "read"],
    scopes: ["agents:read"],
    summary: "Find a voice agent by your reference",
  })
    .input(z.strictObject(ExternalReferencePath))
    .output(AgentResponse)
    .query(({ ctx, input }) => getAgentByReference(ctx, input)),

  update: operation("PATCH", "/v1/agents/{agent_id}", {
    can: ["agents", "update"],
    scopes: ["agents:write"],
    versioned: true,
    summary: "Change the supplied fields of a voice agent",
    description:
      "Absent leaves a field as it is; null clears a field that can be empty and leaves any other as it is. Greeting audio is made again when it is needed.",
  })
    .input(AgentUpdate)
    .output(AgentResponse)
    .mutation(({ ctx, input }) => updateAgent(ctx, input)),

  deactivate: operation("DELETE", "/v1/agents/{agent_id}", {
    can: ["agents", "deactivate"],
    scopes: ["agents:write"],
    versioned: true,
    locking: true,
    summary: "Deactivate a voice agent",
    description:
      "Detaches it from every QR code it is bound to, in one transaction. Accepted on an inactive agent too.",
  })
    .input(AgentDelete)
    .output(AgentDeactivateResponse)
    .mutation(({ ctx, input }) => deactivateAgent(ctx, input)),

  greetingAudio: internalQuery("agents.greetingAudio", {
    scopes: ["agents:read"],
    summary: "Fetch the audio of an agent's greeting",
  })
    .input(GreetingAudioGet)
    .output(GreetingAudioResponse)
    .query(({ ctx, input }) => getGreetingAudio(ctx, input)),
});
