/** The tour with openapi-fetch, on types that openapi-typescript made. */
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const { GATEWAY_URL = "", GATEWAY_KEY = "" } = process.env;
const client = createClient<paths>({ baseUrl: GATEWAY_URL, headers: { "X-API-Key": GATEWAY_KEY } });
const external_reference = `listing ${Math.random()}`;

const agent = await client.POST("/v1/agents", { body: { name: "Concierge", greeting_enabled: false } });
const qr = await client.POST("/v1/qr", { body: { external_reference, property_context: { rooms: 4 } } });
if (agent.error || qr.error) throw new Error(JSON.stringify(agent.error ?? qr.error));
const path = { short_id: qr.data.short_id };
const binding = await client.GET("/v1/qr/{short_id}/agent", { params: { path } });
if (binding.error) throw new Error(binding.error.error.message);
const header = { "If-Match-Version": String(binding.data.binding_version), "Idempotency-Key": crypto.randomUUID() };
const attached = await client.PUT("/v1/qr/{short_id}/agent", {
  params: { path, header },
  body: { agent_id: agent.data.id },
});
if (attached.error) throw new Error(attached.error.error.message);
const ready = await client.GET("/v1/qr/by-external-reference/{external_reference}/public-voice-readiness", {
  params: { path: { external_reference } },
});
const stale = await client.DELETE("/v1/qr/{short_id}", { params: { path, header: { "If-Match-Version": "9" } } });
console.log(JSON.stringify({ status: ready.data?.status, code: stale.error?.error.code }));
