import { crc32 } from "node:zlib";
import { createKey } from "../../src/key-store.js";
import { ALL_SCOPES, type Scope } from "../../src/scopes.js";
import { type BackendName, type RunningGateway, sharedGateway } from "./backends.js";
import { type Api, apiClient, expectOk } from "./http.js";

/** An owner with a key, and REST calls made with it. */
export interface TestOwner {
  name: string;
  key: string;
  api: Api;
  running: RunningGateway;
}

let made = 0;

/** A new owner with a key of these scopes; all by default. */
export async function newOwner(
  on: BackendName | RunningGateway,
  scopes: readonly Scope[] = ALL_SCOPES,
  name = `owner ${process.pid}.${++made}`,
): Promise<TestOwner> {
  const running = typeof on === "string" ? await sharedGateway(on) : on;
  const { dataSource } = running.gateway.open;
  const key = await createKey(dataSource, { ownerName: name, name: "test", scopes, expiresAt: null });
  return { name, key, api: apiClient(running.url, key), running };
}

/** A QR code, as answered. */
export async function newQr({ api }: TestOwner, body: object = {}) {
  return expectOk(await api.post("/v1/qr", body));
}

/** An agent, as answered. */
export async function newAgent({ api }: TestOwner, body: object = {}) {
  return expectOk(await api.post("/v1/agents", { name: "Concierge", ...body }));
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The contract's checksum, written down a second time. */
export function withChecksum(body: string): string {
  const digits = [5, 4, 3, 2, 1, 0].map((power) => BASE62[Math.floor(crc32(body) / 62 ** power) % 62]);
  return body + digits.join("");
}
