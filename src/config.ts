import { isIP } from "node:net";
import { z } from "zod";

/** Where rows live: a file, or a MySQL or MariaDB server. */
export type DatabaseTarget =
  | { kind: "sqlite"; path: string }
  | { kind: "mysql"; host: string; port: number; user: string; password: string; database: string; tls: boolean };

/** A sentence an operator can act on; printed without a stack. */
export class ConfigError extends Error {}

const httpUrl = (name: string) =>
  z.string().refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: `${name} must be an http:// or https:// URL.`,
  });

const wholeNumber = (name: string, what: string, min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `${name} must be ${what} from ${min} to ${max}.`,
    })
    .transform(Number);

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, username, password } = new URL(text);
  const isDecodable = !/%(?![0-9A-Fa-f]{2})/.test(username + password);
  return /^rediss?:$/.test(protocol) && hostname !== "" && /^(\/\d*)?$/.test(pathname) && isDecodable;
}

const DATABASE_HELP = "DATABASE_URL must be sqlite:PATH or mysql://USER:PASSWORD@HOST:PORT/DATABASE";

function parseDatabaseUrl(text: string): DatabaseTarget {
  if (text.startsWith("sqlite:")) {
    const path = text.slice("sqlite:".length);
    if (path === "" || path.startsWith(":memory:")) throw new ConfigError(`${DATABASE_HELP}; sqlite needs a file.`);
    return { kind: "sqlite", path };
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "mysql:" || url.hostname === "" || !/^\/[^/]+$/.test(url.pathname)) {
    throw new ConfigError(`${DATABASE_HELP}.`);
  }
  const tls = url.searchParams.get("tls") ?? "false";
  const unknown = [...url.searchParams.keys()].find((name) => name !== "tls");
  if (unknown !== undefined)
    throw new ConfigError(`DATABASE_URL knows no parameter ${unknown}; there is only tls=true.`);
  // Anything but these two would silently mean no TLS.
  if (tls !== "true" && tls !== "false") throw new ConfigError("DATABASE_URL takes tls=true or tls=false.");
  return {
    kind: "mysql",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 3306 : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    tls: tls === "true",
  };
}

const databaseUrl = z.string().transform((text, context): DatabaseTarget => {
  try {
    return parseDatabaseUrl(text);
  } catch (error) {
    const message = error instanceof ConfigError ? error.message : `${DATABASE_HELP}.`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
});

function isProxyAddress(text: string): boolean {
  if (["loopback", "linklocal", "uniquelocal"].includes(text)) return true;
  const [address = "", prefix = "0", ...more] = text.split("/");
  const family = isIP(address);
  return family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128) && more.length === 0;
}

/** `false`, `true`, a number of proxies, or their addresses: what Express calls `trust proxy`. */
const trustProxy = z
  .string()
  .refine((text) => /^(true|false|\d{1,3})$/.test(text) || text.split(/ *, */).every(isProxyAddress), {
    error: "TRUST_PROXY must be true, false, a number of proxies, or their addresses separated by commas.",
  })
  .transform((text): boolean | number | string => {
    if (text === "true" || text === "false") return text === "true";
    return /^\d+$/.test(text) ? Number(text) : text;
  });

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

const Environment = z.object({
  PORT: wholeNumber("PORT", "a TCP port", 0, 65_535).default(3000),
  HOST: z
    .string()
    .refine((text) => isIP(text) !== 0 || /^[A-Za-z0-9._-]+$/.test(text), {
      error: "HOST must be a host name or an IP address, without a port.",
    })
    .default("127.0.0.1"),
  DATABASE_URL: databaseUrl.default({ kind: "sqlite", path: "data/gateway.db" }),
  REDIS_URL: z
    .string()
    .refine(isRedisUrl, {
      error: "REDIS_URL must be redis:// or rediss://, with a host, and a number as its path if any.",
    })
    .optional(),
  PUBLIC_SCAN_URL: httpUrl("PUBLIC_SCAN_URL")
    .refine((text) => !/[?#\s]/.test(text), { error: "PUBLIC_SCAN_URL must have no query and no fragment." })
    .transform((text) => text.replace(/\/+$/, ""))
    .optional(),
  DEFAULT_VOICE_MODEL: z
    .string()
    .regex(/^[^\p{Cc}]{1,128}$/u, {
      error: "DEFAULT_VOICE_MODEL must be 1 to 128 characters without control characters.",
    })
    .default("gemini-3.1-flash-live-preview"),
  CONTEXT_SIGNING_KEY: z.string().optional(),
  OUTCOME_SINK_URL: httpUrl("OUTCOME_SINK_URL").optional(),
  GEMINI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, { error: "GEMINI_API_KEY must be printable ASCII without blanks." })
    .optional(),
  GEMINI_BASE_URL: httpUrl("GEMINI_BASE_URL").optional(),
  GEMINI_TTS_MODEL: z.string().optional(),
  IDEMPOTENCY_TTL: wholeNumber("IDEMPOTENCY_TTL", "a whole number of seconds", 1, 31_536_000).default(86_400),
  IDEMPOTENCY_LEASE: wholeNumber("IDEMPOTENCY_LEASE", "a whole number of seconds", 1, 300).default(5),
  TRUST_PROXY: trustProxy.default(false),
  WORKERS: wholeNumber("WORKERS", "a whole number of processes", 1, 256).default(1),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}.` }).default("info"),
});

/** Everything an operator can set, parsed; durations in seconds. */
export interface Config {
  port: number;
  host: string;
  database: DatabaseTarget;
  redisUrl: string | undefined;
  /** Without a trailing slash. */
  publicScanUrl: string;
  defaultVoiceModel: string;
  /** Undefined on the embedded default: it makes and keeps its own. */
  contextSigningKey: string | undefined;
  outcomeSinkUrl: string | undefined;
  /** With a key greetings are spoken by Gemini; without, offline. */
  geminiApiKey: string | undefined;
  geminiBaseUrl: string | undefined;
  geminiTtsModel: string | undefined;
  idempotencyTtlSeconds: number;
  idempotencyLeaseSeconds: number;
  trustProxy: boolean | number | string;
  /** Processes on the one port. */
  workers: number;
  logLevel: (typeof LOG_LEVELS)[number];
}

/** Reads the environment once; an empty variable counts as absent. Throws ConfigError naming every bad variable. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ""));
  const result = Environment.safeParse(set);
  if (!result.success) throw new ConfigError(result.error.issues.map((issue) => issue.message).join("\n"));
  const values = result.data;
  if (values.DATABASE_URL.kind === "mysql" && values.CONTEXT_SIGNING_KEY === undefined) {
    throw new ConfigError("CONTEXT_SIGNING_KEY is required with MySQL: every process must sign with the same key.");
  }
  if (values.DATABASE_URL.kind === "sqlite" && values.WORKERS > 1) {
    throw new ConfigError("WORKERS must be 1 on SQLite: its transactions queue in one process. Use MySQL for more.");
  }
  return {
    port: values.PORT,
    host: values.HOST,
    database: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    publicScanUrl: values.PUBLIC_SCAN_URL ?? `http://localhost:${values.PORT}/q`,
    defaultVoiceModel: values.DEFAULT_VOICE_MODEL,
    contextSigningKey: values.CONTEXT_SIGNING_KEY,
    outcomeSinkUrl: values.OUTCOME_SINK_URL,
    geminiApiKey: values.GEMINI_API_KEY,
    geminiBaseUrl: values.GEMINI_BASE_URL,
    geminiTtsModel: values.GEMINI_TTS_MODEL,
    idempotencyTtlSeconds: values.IDEMPOTENCY_TTL,
    idempotencyLeaseSeconds: values.IDEMPOTENCY_LEASE,
    trustProxy: values.TRUST_PROXY,
    workers: values.WORKERS,
    logLevel: values.LOG_LEVEL,
  };
}
