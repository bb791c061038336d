/** An app that installed the package: from nothing to a bound, ready QR code. The test compiles it as ESM and as CJS. */
import { createGateway, isGatewayError, updateWithLatest } from "qr-voice-gateway/client";

async function main(): Promise<void> {
  const { GATEWAY_URL: url = "", GATEWAY_KEY: apiKey = "" } = process.env;
  const gateway = createGateway({ url, apiKey });
  const external_reference = `listing ${Math.random()}`;

  const [agent, qr] = await Promise.all([
    gateway.agents.create.mutate({ name: "Concierge", greeting_enabled: false }),
    gateway.qr.create.mutate({ name: "Front door", external_reference, property_context: { rooms: 4 } }),
  ]);
  const { short_id } = qr;
  await updateWithLatest(
    () => gateway.bindings.get.query({ short_id }),
    ({ binding_version }) =>
      gateway.bindings.attach.mutate({ short_id, if_match_version: binding_version, agent_id: agent.id }),
  );
  const { status } = await gateway.qr.readiness.query({ external_reference });

  const stale = await gateway.qr.delete.mutate({ short_id, if_match_version: 9 }).catch((error: unknown) => error);
  const current = isGatewayError(stale, "RESOURCE_VERSION_CONFLICT") && stale.data.error.details.current_version;
  console.log(JSON.stringify({ status, current }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
