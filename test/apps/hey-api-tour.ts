/** The tour with a client that @hey-api/openapi-ts made. */
import { client } from "./hey/client.gen";
import { agentsCreate, bindingsAttach, bindingsGet, qrCreate, qrDelete, qrReadiness } from "./hey/sdk.gen";

async function main(): Promise<void> {
  const { GATEWAY_URL = "", GATEWAY_KEY = "" } = process.env;
  client.setConfig({ baseUrl: GATEWAY_URL as "/", auth: GATEWAY_KEY });
  const external_reference = `listing ${Math.random()}`;

  const agent = await agentsCreate({ body: { name: "Concierge", greeting_enabled: false }, throwOnError: true });
  const qr = await qrCreate({ body: { external_reference, property_context: { rooms: 4 } }, throwOnError: true });
  const path = { short_id: qr.data.short_id };
  const binding = await bindingsGet({ path, throwOnError: true });
  await bindingsAttach({
    path,
    headers: { "If-Match-Version": String(binding.data.binding_version), "Idempotency-Key": crypto.randomUUID() },
    body: { agent_id: agent.data.id },
    throwOnError: true,
  });
  const ready = await qrReadiness({ path: { external_reference } });
  const stale = await qrDelete({ path, headers: { "If-Match-Version": "9" } });
  console.log(JSON.stringify({ status: ready.data?.status, code: stale.error?.error.code }));
}

await main();
