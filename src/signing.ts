import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { CompactSign, compactVerify } from "jose";

/** What a binding marker vouches for. */
export interface BindingContext {
  owner: number;
  short_id: string;
  external_reference: string | null;
  agent_id: number;
  binding_version: number;
  /** SHA-256, hex, of the RFC 8785 form of property_context; null without one. */
  property_context_digest: string | null;
}

/** Signs and verifies binding markers: compact JWS, HS256. */
export interface ContextSigner {
  sign(context: BindingContext): Promise<string>;
  /** The context of a marker whose signature holds, else null. */
  verify(marker: string): Promise<BindingContext | null>;
}

/** The digest that a marker carries of a property_context. */
export function digestOf(propertyContext: unknown): string | null {
  if (propertyContext === null) return null;
  return createHash("sha256")
    .update(canonicalize(propertyContext) as string)
    .digest("hex");
}

/** A signer with `CONTEXT_SIGNING_KEY`. */
export function createSigner(key: string): ContextSigner {
  const secret = new TextEncoder().encode(key);
  return {
    sign: (context) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(context)))
        .setProtectedHeader({ alg: "HS256" })
        .sign(secret),
    async verify(marker) {
      try {
        const { payload } = await compactVerify(marker, secret, { algorithms: ["HS256"] });
        return JSON.parse(new TextDecoder().decode(payload)) as BindingContext;
      } catch {
        return null;
      }
    },
  };
}
