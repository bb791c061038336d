import type { Context } from "../context.js";
import type { ResourceName } from "../operation.js";
import type { CapabilitiesResponse } from "../schemas/capabilities.js";
import { ALL_SCOPES, SCOPES } from "../scopes.js";

const NOTES = [
  "PUT /v1/qr/{short_id}/paywall takes no If-Match-Version and no Idempotency-Key, leaves resource_version as it is and is not audited.",
  "An exact replay of an idempotent request answers with the stored result and Idempotency-Replayed: true, also when the version has moved on or the resource is gone.",
  "In a PATCH body, null clears a field that can be empty and leaves any other as it is; an absent field is left as it is.",
];

/** What this key may do, derived from the operations and its scopes. */
export function describeCapabilities(ctx: Context): CapabilitiesResponse {
  const { scopes } = ctx.caller;
  const allowed: Record<ResourceName, Set<string>> = {
    qr: new Set(),
    paywall: new Set(),
    agents: new Set(),
    qr_agent_binding: new Set(),
  };
  const versioned = new Set<ResourceName>();
  for (const operation of ctx.deps.operations.values()) {
    if (operation.can === undefined) continue;
    const [resource, action] = operation.can;
    if (operation.versioned) versioned.add(resource);
    if (operation.scopes.every((scope) => scopes.has(scope))) allowed[resource].add(action);
  }
  return {
    api_version: "v1",
    resources: {
      qr: [...allowed.qr],
      paywall: [...allowed.paywall],
      agents: [...allowed.agents],
      qr_agent_binding: [...allowed.qr_agent_binding],
    },
    authorization: {
      effective_scopes: ALL_SCOPES.filter((scope) => scopes.has(scope)),
      available_scopes: ALL_SCOPES.map((name) => ({ name, description: SCOPES[name] })),
    },
    concurrency: {
      resource_versions: true,
      conditional_version_header: "If-Match-Version",
      stale_version_error: "RESOURCE_VERSION_CONFLICT",
      versioned_resource_types: [...versioned],
    },
    sensitive_resources_exposed: [],
    notes: NOTES,
  };
}
