import { z } from "zod";
import { overridable } from "./agents.js";
import { IdempotencyKey, IfMatchVersion, instant, version } from "./fields.js";
import { QrPath } from "./qr.js";

const override = z
  .strictObject({
    greeting_message: overridable.greeting_message.nullable().default(null),
    system_prompt: overridable.system_prompt.nullable().default(null),
    voice_name: overridable.voice_name.nullable().default(null),
  })
  .meta({ description: "What this QR code says otherwise than the agent; null takes the agent's own." });

/** Body of PUT /v1/qr/{short_id}/agent, with the header members. It replaces: an absent override clears it. */
export const BindingAttach = z
  .strictObject({
    ...QrPath,
    ...IfMatchVersion,
    agent_id: z.int().meta({ description: "An agent of yours that is active.", example: 7 }),
    override: override.nullable().default(null),
    ...IdempotencyKey,
  })
  .meta({ title: "QRAgentBindingUpdate" });
export type BindingAttach = z.infer<typeof BindingAttach>;

/** Input of DELETE /v1/qr/{short_id}/agent. */
export const BindingDetach = z.strictObject({ ...QrPath, ...IfMatchVersion, ...IdempotencyKey });
export type BindingDetach = z.infer<typeof BindingDetach>;

/** The override of a binding; all three members are always there. */
export const Override = z
  .strictObject({
    greeting_message: z.string().nullable(),
    system_prompt: z.string().nullable(),
    voice_name: z.string().nullable(),
  })
  .meta({ example: { greeting_message: "Welcome to the kitchen.", system_prompt: null, voice_name: null } });
export type Override = z.infer<typeof Override>;

/** A binding, which every QR code has from birth; every member is always there. */
export const BindingResponse = z
  .strictObject({
    short_id: z.string().meta({ example: "k3WdP9xTqa" }),
    binding_version: version("Moves by 1 with every attach and detach, a deactivation's detach included."),
    agent: z
      .strictObject({ id: z.int().meta({ example: 7 }), resource_version: version("The agent's version now.") })
      .meta({ id: "QRAgentBindingAgentResponse" })
      .nullable(),
    override: Override.nullable(),
    updated_at: instant("When binding_version last moved."),
  })
  .meta({ id: "QRAgentBindingResponse" });
export type BindingResponse = z.infer<typeof BindingResponse>;
