import { shortIdOf } from "../seed/short-id.js";
import { Connection } from "./connection.js";
import { Histogram } from "./histogram.js";
import { OPERATIONS, type OperationName, type Slot } from "./operations.js";
import { BATCH, encode, type Surface } from "./requests.js";

/** One round of load, as the runner asks for it. */
export interface RoundRequest {
  port: number;
  /** One API key an owner; connections take them in turn. */
  keys: string[];
  /** The table behind the server: servers of one store share the versions of its rows. */
  store: string;
  /** Seeded rows of each owner. */
  rows: number;
  operation: OperationName;
  surface: Surface;
  connections: number;
  seconds: number;
}

/** What a round measured. */
export interface RoundResult {
  operations: number;
  failures: number;
  /** The first answer that was not a 200, head and body. */
  firstFailure: string | null;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** User and system CPU of the load generator itself. */
  loadCpuMicros: number;
}

const OWN_ROWS = 200;
const NO_ROW: Slot = { shortId: "", version: 0 };

/** The rows each connection changes, with the version each is at, kept from round to round by store and connection. */
const ownRows = new Map<string, Slot[]>();

function ownRowsOf(request: RoundRequest, index: number): Slot[] {
  const name = `${request.store} ${index} of ${request.connections}`;
  const known = ownRows.get(name);
  if (known !== undefined) return known;
  const owner = index % request.keys.length;
  const lane = Math.floor(index / request.keys.length);
  const lanes = Math.ceil(request.connections / request.keys.length);
  const count = Math.min(OWN_ROWS, Math.floor(request.rows / lanes));
  const slots = Array.from({ length: count }, (_, turn) => ({
    shortId: shortIdOf(owner, lane + lanes * turn),
    version: 1,
  }));
  ownRows.set(name, slots);
  return slots;
}

/** Takes the slots of the next request, and puts those of an answered one back. */
function slotSource(request: RoundRequest, index: number) {
  const { rows } = OPERATIONS[request.operation];
  const batch = BATCH[request.surface];
  const owner = index % request.keys.length;
  const own = rows === "own" ? ownRowsOf(request, index) : [];
  const random = () => ({ shortId: shortIdOf(owner, Math.floor(Math.random() * request.rows)), version: 0 });
  const none = Array.from({ length: batch }, () => NO_ROW);

  return {
    /** Empty where every row of the connection has been lost to a failure. */
    take(): Slot[] {
      if (rows === "none") return none;
      if (rows === "any") return Array.from({ length: batch }, random);
      return own.length < batch ? [] : own.splice(0, batch);
    },
    /** A row whose change failed is at a version nobody here knows: it is not used again. */
    settle(slots: Slot[], ok: boolean): void {
      if (rows === "own" && ok) for (const { shortId, version } of slots) own.push({ shortId, version: version + 1 });
    },
  };
}

/** Runs a closed loop on every connection for the time asked, and lets the last requests end. */
export async function runRound(request: RoundRequest): Promise<RoundResult> {
  const histogram = new Histogram();
  const operation = OPERATIONS[request.operation];
  const batch = BATCH[request.surface];
  let operations = 0;
  let failures = 0;
  let firstFailure: string | null = null;
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const deadline = start + request.seconds * 1000;

  const loop = (index: number) =>
    new Promise<void>((resolve) => {
      const source = slotSource(request, index);
      const headers = `Host: 127.0.0.1\r\nX-API-Key: ${request.keys[index % request.keys.length]}\r\n`;
      let slots: Slot[] = [];
      let sent = 0;
      const next = () => {
        sent = performance.now();
        slots = sent < deadline ? source.take() : [];
        if (slots.length > 0) return connection.send(encode(request.surface, operation, slots, headers));
        connection.close();
        resolve();
      };
      const connection = new Connection(request.port, (status, text) => {
        histogram.record(performance.now() - sent);
        source.settle(slots, status === 200);
        if (status === 200) operations += batch;
        else {
          failures += batch;
          firstFailure ??= text;
        }
        next();
      });
      next();
    });

  await Promise.all(Array.from({ length: request.connections }, (_, index) => loop(index)));
  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    operations,
    failures,
    firstFailure,
    seconds,
    p50Ms: histogram.percentile(0.5),
    p99Ms: histogram.percentile(0.99),
    loadCpuMicros: cpu.user + cpu.system,
  };
}
