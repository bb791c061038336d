/** Every scope, with what it lets its holder do. */
export const SCOPES = {
  "qr:read": "Read and list QR codes, their paywall configuration and their public voice readiness.",
  "qr:write": "Create, update and delete QR codes and replace their paywall configuration.",
  "agents:read": "Read and list voice agents.",
  "agents:write": "Create, update and deactivate voice agents.",
  "bindings:read": "Read which agent is attached to a QR code.",
  "bindings:write": "Attach an agent to a QR code and detach it.",
} as const;

/** A scope's name. */
export type Scope = keyof typeof SCOPES;

/** All scope names, in the order they are listed. */
export const ALL_SCOPES = Object.keys(SCOPES) as Scope[];

/** True for a scope that exists. */
export function isScope(name: string): name is Scope {
  return Object.hasOwn(SCOPES, name);
}
