import { randomBytes } from "node:crypto";

/** What a round can do over and over. */
export const OPERATION_NAMES = ["get", "list", "list-deep", "post", "post-keyed", "patch"] as const;

/** One of them. */
export type OperationName = (typeof OPERATION_NAMES)[number];

/** The resource one request is about. */
export interface Slot {
  shortId: string;
  version: number;
}

/** One operation as both surfaces say it. JSON is joined by hand: the load generator shares the cores with the server. */
export interface Operation {
  procedure: string;
  kind: "query" | "mutation";
  /** Which rows it needs: any (random), its own (a range no other connection touches) or none. */
  rows: "any" | "own" | "none";
  rest(slot: Slot): { method: string; path: string; headers?: string; body?: string };
  /** The JSON of the tRPC input. */
  input(slot: Slot): string;
}

/** A new QR code as a client makes it, about 300 bytes. */
export const NEW_QR = JSON.stringify({
  name: "Room 204, second floor",
  description: "On the inside of the door, at eye height; answers questions about the room and the house.",
  destination_url: "https://example.com/houses/harbour-view/rooms/204",
  property_context: { house: "Harbour View", room: 204, floor: 2, check_out: "11:00", wifi: "harbour-guest" },
});

const CHANGE = JSON.stringify({ name: "Room 204, renamed", description: "Moved to the desk." });

/** `{"added":…, …}`: a JSON object with a member put before its own. */
const withMember = (member: string, object: string) => `{${member},${object.slice(1)}`;

const RUN = randomBytes(6).toString("hex");
let keys = 0;
const nextKey = () => `bench-${RUN}-${++keys}`;

function list(offset: number): Operation {
  const query = offset === 0 ? "limit=50" : `limit=50&offset=${offset}`;
  const input = JSON.stringify(offset === 0 ? { limit: 50 } : { limit: 50, offset });
  return {
    procedure: "qr.list",
    kind: "query",
    rows: "none",
    rest: () => ({ method: "GET", path: `/v1/qr?${query}` }),
    input: () => input,
  };
}

/** Every operation by its name. */
export const OPERATIONS: Record<OperationName, Operation> = {
  get: {
    procedure: "qr.get",
    kind: "query",
    rows: "any",
    rest: (slot) => ({ method: "GET", path: `/v1/qr/${slot.shortId}` }),
    input: (slot) => `{"short_id":"${slot.shortId}"}`,
  },
  list: list(0),
  "list-deep": list(90_000),
  post: {
    procedure: "qr.create",
    kind: "mutation",
    rows: "none",
    rest: () => ({ method: "POST", path: "/v1/qr", body: NEW_QR }),
    input: () => NEW_QR,
  },
  "post-keyed": {
    procedure: "qr.create",
    kind: "mutation",
    rows: "none",
    rest: () => ({ method: "POST", path: "/v1/qr", headers: `Idempotency-Key: ${nextKey()}\r\n`, body: NEW_QR }),
    input: () => withMember(`"idempotency_key":"${nextKey()}"`, NEW_QR),
  },
  patch: {
    procedure: "qr.update",
    kind: "mutation",
    rows: "own",
    rest: (slot) => ({
      method: "PATCH",
      path: `/v1/qr/${slot.shortId}`,
      headers: `If-Match-Version: ${slot.version}\r\n`,
      body: CHANGE,
    }),
    input: (slot) => withMember(`"short_id":"${slot.shortId}","if_match_version":${slot.version}`, CHANGE),
  },
};
