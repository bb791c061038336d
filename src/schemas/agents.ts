import { z } from "zod";
import {
  bytes,
  externalReference,
  IdempotencyKey,
  IfMatchVersion,
  instant,
  openName,
  page,
  text,
  version,
} from "./fields.js";

const TEXT_BYTES = 65_535;

const name = text(1, 255, "What people call the agent.").meta({ example: "Listing concierge" });
const description = text(0, 2000, "Free text.");
const greetingMessage = text(0, 2000, "What the agent says first, where greetings are enabled.").meta({
  example: "Hello! Ask me about the house.",
});
const triggerMessage = text(0, 2000, "What the model is told to make it begin.").meta({
  example: "Greet the visitor.",
});
const model = openName("The voice model's identifier, an open set.").meta({ example: "gemini-3.1-flash-live-preview" });
const voiceName = openName("The provider's voice, an open set.").meta({ example: "Puck" });
const turnCoverage = openName("What the model takes for a turn, an open set.").meta({ example: "activity_only" });
const systemPrompt = bytes(TEXT_BYTES, "The agent's instructions.").meta({
  example: "You answer for the house at 12 Harbour Street.",
});
const tools = bytes(TEXT_BYTES, "An opaque text, returned byte for byte.").meta({ example: "[]" });
const extraConfig = bytes(TEXT_BYTES, "An opaque text, returned byte for byte.").meta({ example: "{}" });

/** The limits an override shares with the agent's own fields. */
export const overridable = { greeting_message: greetingMessage, system_prompt: systemPrompt, voice_name: voiceName };

const clearable = {
  description: description.nullable().optional(),
  system_prompt: systemPrompt.nullable().optional(),
  greeting_message: greetingMessage.nullable().optional(),
  trigger_message: triggerMessage.nullable().optional(),
  tools: tools.nullable().optional(),
  extra_config: extraConfig.nullable().optional(),
};

/** Body of POST /v1/agents, with the header members. */
export const AgentCreate = z
  .strictObject({
    name,
    external_reference: externalReference("Unique among all your agents; it never changes.").nullable().optional(),
    ...clearable,
    model: model.optional().meta({ description: "Absent takes the service's default live voice model." }),
    greeting_enabled: z.boolean().default(true),
    trigger_enabled: z.boolean().default(true),
    voice_name: voiceName.default("Puck"),
    turn_coverage: turnCoverage.default("activity_only"),
    email_notifications_enabled: z.boolean().default(false),
    is_active: z.boolean().default(true),
    ...IdempotencyKey,
  })
  .meta({ title: "AgentCreateRequest" });
export type AgentCreate = z.infer<typeof AgentCreate>;

const agentId = z.int().min(0).meta({ description: "The agent's id.", example: 7 });

/** Path of one agent. */
export const AgentPath = { agent_id: agentId };

/** Input that is nothing but the path. */
export const AgentGet = z.strictObject(AgentPath);
export type AgentGet = z.infer<typeof AgentGet>;

const kept = "Absent or null leaves it as it is.";

/** Body of PATCH /v1/agents/{agent_id}, with path and version. Absent leaves as is; null clears what can be empty. */
export const AgentUpdate = z
  .strictObject({
    ...AgentPath,
    ...IfMatchVersion,
    ...clearable,
    name: name.nullable().optional().meta({ description: kept }),
    model: model.nullable().optional().meta({ description: kept }),
    greeting_enabled: z.boolean().nullable().optional().meta({ description: kept }),
    trigger_enabled: z.boolean().nullable().optional().meta({ description: kept }),
    voice_name: voiceName.nullable().optional().meta({ description: kept }),
    turn_coverage: turnCoverage.nullable().optional().meta({ description: kept }),
    email_notifications_enabled: z.boolean().nullable().optional().meta({ description: kept }),
    is_active: z
      .boolean()
      .nullable()
      .optional()
      .meta({ description: `${kept} False leaves bindings as they are.` }),
  })
  .meta({ title: "AgentUpdateRequest" });
export type AgentUpdate = z.infer<typeof AgentUpdate>;

/** Input of DELETE /v1/agents/{agent_id}. */
export const AgentDelete = z.strictObject({ ...AgentPath, ...IfMatchVersion });
export type AgentDelete = z.infer<typeof AgentDelete>;

/** Query of GET /v1/agents. */
export const AgentList = z.strictObject({
  include_inactive: z.boolean().default(false).meta({ description: "Whether inactive agents are listed too." }),
  ...page(50),
});
export type AgentList = z.infer<typeof AgentList>;

/** An agent; every member is always there. */
export const AgentResponse = z
  .strictObject({
    id: agentId,
    name: z.string().meta({ example: "Listing concierge" }),
    description: z.string().nullable().meta({ example: null }),
    external_reference: z.string().nullable().meta({ example: "agent-7" }),
    model: z.string().meta({ example: "gemini-3.1-flash-live-preview" }),
    system_prompt: z.string().nullable().meta({ example: "You answer for the house at 12 Harbour Street." }),
    greeting_message: z.string().nullable().meta({ example: "Hello! Ask me about the house." }),
    greeting_enabled: z.boolean(),
    trigger_message: z.string().nullable().meta({ example: null }),
    trigger_enabled: z.boolean(),
    voice_name: z.string().meta({ example: "Puck" }),
    turn_coverage: z.string().meta({ example: "activity_only" }),
    email_notifications_enabled: z.boolean(),
    tools: z.string().nullable().meta({ example: null }),
    extra_config: z.string().nullable().meta({ example: null }),
    is_active: z.boolean(),
    resource_version: version("Moves by 1 with every accepted PATCH or DELETE."),
    created_at: instant("When the agent was created."),
    updated_at: instant("When resource_version last moved."),
  })
  .meta({ id: "AgentResponse" });
export type AgentResponse = z.infer<typeof AgentResponse>;

/** Body of GET /v1/agents. */
export const AgentListResponse = z.array(AgentResponse);

/** Body of DELETE /v1/agents/{agent_id}. */
export const AgentDeactivateResponse = z
  .strictObject({
    status: z.literal("deactivated"),
    agent_id: agentId,
    is_active: z.boolean(),
    resource_version: version("The agent's version after it."),
    detached_qr_count: z.int().min(0).meta({ description: "How many of your QR codes the agent was detached from." }),
  })
  .meta({ id: "AgentDeactivateResponse" });
export type AgentDeactivateResponse = z.infer<typeof AgentDeactivateResponse>;
