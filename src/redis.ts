import { createClient, defineScript } from "redis";
import type { Logger } from "pino";

const CONNECT_TIMEOUT_MS = 500;
const ANSWER_TIMEOUT_MS = 150;
const BREAKER_MS = 300;
const CLOSE_TIMEOUT_MS = 500;
const MAX_QUEUED_COMMANDS = 1000;
const MAX_RECONNECT_DELAY_MS = 2000;

/** A pending entry is `P<fingerprint><attempt>`, a done one `D<fingerprint><completed at><body>`. */
const claim = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    local entry = redis.call('GET', KEYS[1])
    if entry then return {entry, redis.call('PTTL', KEYS[1])} end
    redis.call('SET', KEYS[1], 'P' .. ARGV[1] .. ARGV[2], 'PX', ARGV[3])
    return false`,
  parseCommand(parser, key: string, fingerprint: string, attempt: string, leaseMs: string) {
    parser.pushKey(key);
    parser.push(fingerprint, attempt, leaseMs);
  },
  transformReply: undefined as unknown as () => [entry: string, remainingMs: number] | null,
});

/** Deletes a claim only where it is still the caller's own. */
const release = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    if redis.call('GET', KEYS[1]) == 'P' .. ARGV[1] .. ARGV[2] then return redis.call('DEL', KEYS[1]) end
    return 0`,
  parseCommand(parser, key: string, fingerprint: string, attempt: string) {
    parser.pushKey(key);
    parser.push(fingerprint, attempt);
  },
  transformReply: undefined as unknown as () => number,
});

function makeClient(url: string) {
  return createClient({
    url,
    scripts: { claim, release },
    disableOfflineQueue: true,
    // The library's own covers unsent commands only, and costs an AbortSignal each; `attempt` has a deadline of its own.
    commandOptions: { timeout: 0 },
    commandsQueueMaxLength: MAX_QUEUED_COMMANDS,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Never gives up: a Redis that comes back is used again.
      reconnectStrategy: (retries) =>
        Math.min(50 * 2 ** Math.min(retries, 6), MAX_RECONNECT_DELAY_MS) * (0.5 + Math.random() / 2),
    },
  });
}

type Client = ReturnType<typeof makeClient>;

/** Redis as an accelerator: whatever it cannot do in time is skipped, and nothing fails for it. */
export interface Redis {
  /** Runs a command; undefined when Redis is down, slow (150 ms) or was so within the last 300 ms. */
  attempt<T>(command: (client: Client) => Promise<T>): Promise<{ reply: T } | undefined>;
  /** Sends a command behind all earlier ones, even those that were too late to be waited for; best effort. */
  tell(command: (client: Client) => Promise<unknown>): void;
  isReady(): boolean;
  /** Calls `onMessage` for each message of a channel, across reconnects. */
  subscribe(channel: string, onMessage: (message: string) => void): void;
  close(): Promise<void>;
}

/** Opens Redis without waiting for it. */
export function openRedis(url: string, log: Logger): Redis {
  let openUntil = 0;
  const clients: Client[] = [];

  function connect(): Client {
    const client = makeClient(url);
    let reported = false;
    client.on("error", (error: unknown) => {
      if (!reported) log.warn({ err: error }, "Redis does not answer; going on without it");
      reported = true;
    });
    client.on("ready", () => (reported = false));
    clients.push(client);
    return client;
  }

  const main = connect();
  // The reconnect strategy goes on where the first connect fails.
  main.connect().catch(() => undefined);

  return {
    async attempt(command) {
      if (!main.isReady || Date.now() < openUntil) return undefined;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), ANSWER_TIMEOUT_MS);
      });
      const answer = command(main).then(
        (reply) => ({ reply }),
        () => undefined,
      );
      const result = await Promise.race([answer, late]);
      clearTimeout(timer);
      if (result === undefined) openUntil = Date.now() + BREAKER_MS;
      return result;
    },
    tell(command) {
      if (main.isReady) command(main).catch(() => undefined);
    },
    isReady: () => main.isReady,
    subscribe(channel, onMessage) {
      const subscriber = connect();
      const start = () => subscriber.subscribe(channel, onMessage);
      subscriber
        .connect()
        .then(start)
        .catch(() => undefined);
    },
    async close() {
      const closing = clients.map(async (client) => (client.isReady ? client.close() : client.destroy()));
      // Closing waits for the answers that are due; a Redis that hangs would keep the process from ending.
      const timer = setTimeout(() => clients.forEach((client) => client.destroy()), CLOSE_TIMEOUT_MS);
      await Promise.allSettled(closing);
      clearTimeout(timer);
    },
  };
}
