import type { Operation, Slot } from "./operations.js";

/** How operations can travel. */
export const SURFACES = ["rest", "trpc", "trpc-batch"] as const;

/** One of them. */
export type Surface = (typeof SURFACES)[number];

/** Operations in one request of each surface. */
export const BATCH: Record<Surface, number> = { rest: 1, trpc: 1, "trpc-batch": 10 };

function request(method: string, path: string, headers: string, body: string | undefined): string {
  const head = `${method} ${path} HTTP/1.1\r\n${headers}`;
  if (body === undefined) return `${head}\r\n`;
  // Every body is ASCII, so that its length in bytes is its length.
  return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function trpc(operation: Operation, procedures: string, parameters: string, input: string, headers: string): string {
  const path = `/trpc/${procedures}`;
  if (operation.kind === "mutation") return request("POST", `${path}${parameters && `?${parameters}`}`, headers, input);
  return request(
    "GET",
    `${path}?${parameters && `${parameters}&`}input=${encodeURIComponent(input)}`,
    headers,
    undefined,
  );
}

/** The bytes of one request over the slots it is about; `headers` are the common ones, each ended by CRLF. */
export function encode(surface: Surface, operation: Operation, slots: readonly Slot[], headers: string): string {
  const [first] = slots;
  if (first === undefined) throw new Error("A request needs a slot.");
  if (surface === "rest") {
    const { method, path, headers: own = "", body } = operation.rest(first);
    return request(method, path, headers + own, body);
  }
  if (surface === "trpc") return trpc(operation, operation.procedure, "", operation.input(first), headers);
  const procedures = slots.map(() => operation.procedure).join(",");
  const inputs = slots.map((slot, index) => `"${index}":${operation.input(slot)}`).join(",");
  return trpc(operation, procedures, "batch=1", `{${inputs}}`, headers);
}
