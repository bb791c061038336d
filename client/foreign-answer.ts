/** Something between the caller and the gateway answered in its place: a proxy, a load balancer. */
export class ForeignAnswer extends Error {
  constructor(
    readonly status: number,
    /** How long it asks to wait, in milliseconds; undefined where it does not say. */
    readonly retryAfterMs: number | undefined,
  ) {
    super(`Not the gateway but something in front of it answered, with status ${status}.`);
  }
}

/** Whole seconds, or a date; undefined where it says neither. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** A `fetch` that rejects with ForeignAnswer where the answer is not the gateway's: it always answers in JSON. */
export function fetchFromGateway(given: typeof fetch | undefined): typeof fetch {
  return async (input, init) => {
    const response = await (given ?? fetch)(input, init);
    if (response.headers.get("content-type")?.startsWith("application/json")) return response;
    await response.body?.cancel();
    throw new ForeignAnswer(response.status, retryAfterMs(response.headers.get("retry-after")));
  };
}
