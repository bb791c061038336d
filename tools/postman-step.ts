/** One request of the tour, and what its answer must be. */
export interface Step {
  name: string;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Another key than {{api_key}}; null sends none. */
  key?: string | null;
  status: number;
  /** The error code; none for a success. */
  code?: string;
  /** Run before it is sent. */
  before?: string[];
  /** Run with `body`, the parsed answer. */
  after?: string[];
}

/** Path of the tour's QR code. */
export const QR = "/v1/qr/{{short_id}}";
/** Path of its agent. */
export const AGENT = "/v1/agents/{{agent_id}}";
/** Path of its binding. */
export const BINDING = `${QR}/agent`;
/** Header of a versioned mutation. */
export const ifMatch = (version: string) => ({ "If-Match-Version": version });
/** Header of a keyed request; the run makes it unique. */
export const keyed = (name: string) => ({ "Idempotency-Key": `{{run}}-${name}` });
/** Hands a value on to later requests. */
export const keep = (name: string, value: string) => `pm.collectionVariables.set("${name}", ${value});`;
/** A sentence, and the assertion it stands for. */
export const expectBody = (sentence: string, assertion: string) => `pm.test("${sentence}", () => ${assertion});`;
/** Whether the answer is a replay. */
export const replayed = (header: boolean) =>
  `pm.test("${header ? "is" : "is no"} replay", () => pm.expect(pm.response.headers.get("Idempotency-Replayed")).to.equal(${header ? '"true"' : "undefined"}));`;

/** Body of the agent. */
export const NEW_AGENT = { name: "Concierge", external_reference: "agent-{{run}}", greeting_enabled: false };
/** Body of the draft. */
export const NEW_QR = {
  name: "Front door",
  external_reference: "listing-{{run}}",
  property_context: { address: "12 Harbour Street", rooms: 4 },
  is_active: false,
};

/** A member of the answer, by its path, has this value, a JavaScript expression. */
export const expectAnswer = (member: string, value: string) =>
  expectBody(`${member} is ${value.replaceAll('"', "'")}`, `pm.expect(body.${member}).to.equal(${value})`);
