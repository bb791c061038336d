import { z } from "zod";

/** No input. */
export const NoInput = z.strictObject({});

/** What this key may do, and the conventions of this interface. */
export const CapabilitiesResponse = z
  .strictObject({
    api_version: z.string().meta({ example: "v1" }),
    resources: z
      .strictObject({
        qr: z.array(z.string()),
        paywall: z.array(z.string()),
        agents: z.array(z.string()),
        qr_agent_binding: z.array(z.string()),
      })
      .meta({ description: "For each resource the actions that this key's scopes allow." }),
    authorization: z.strictObject({
      effective_scopes: z.array(z.string()),
      available_scopes: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    }),
    concurrency: z.strictObject({
      resource_versions: z.boolean(),
      conditional_version_header: z.string(),
      stale_version_error: z.string(),
      versioned_resource_types: z.array(z.string()),
    }),
    sensitive_resources_exposed: z.array(z.string()),
    notes: z.array(z.string()).meta({ description: "The exceptions a client must know." }),
  })
  .meta({ id: "CapabilitiesResponse" });
export type CapabilitiesResponse = z.infer<typeof CapabilitiesResponse>;
