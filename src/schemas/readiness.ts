import { z } from "zod";

/** Why a QR code is not ready for the public, in the order in which they are looked at. */
export const READINESS_ERRORS = [
  "PUBLIC_ACCESS_UNSUPPORTED",
  "BINDING_MARKER_MISSING",
  "BINDING_INVALID",
  "PROPERTY_CONTEXT_NOT_READY",
  "CONTEXT_IDENTITY_MISMATCH",
  "OUTCOME_PIPELINE_NOT_READY",
] as const;

const none = (what: string) => z.literal(0).meta({ description: `Always 0: the check makes no ${what}.` });

/** Whether a QR code would answer the public, and the first reason why not. */
export const ReadinessResponse = z
  .strictObject({
    status: z.enum(["ready", "unavailable"]),
    public_access_supported: z.boolean().meta({ description: "The code is active and its paywall is off." }),
    binding_marker_present: z.boolean().meta({ description: "A signed context is kept with the binding." }),
    binding_valid: z.boolean().meta({
      description:
        "An agent is attached and active, and the signed context holds for this agent and this binding_version.",
    }),
    property_context_ready: z.boolean().meta({ description: "property_context has a member and is the signed one." }),
    context_identity_match: z
      .boolean()
      .meta({ description: "Owner, short_id and external_reference are the signed ones." }),
    outcome_pipeline_ready: z.boolean().meta({ description: "The operator has configured an outcome sink." }),
    session_creation_count: none("session"),
    provider_connection_count: none("provider connection"),
    database_mutation_count: none("change in the database"),
    error_code: z.enum(READINESS_ERRORS).nullable().meta({ description: "The first that fails, in the order above." }),
  })
  .meta({ id: "PublicVoiceReadinessResponse" });
export type ReadinessResponse = z.infer<typeof ReadinessResponse>;
