/** What must not compile, and what must: `npm run check` compiles this, and so does an app that installed the package. */
import {
  createGateway,
  type GatewayInputs,
  type GatewayOutputs,
  isGatewayError,
  updateWithLatest,
} from "../client/index.js";

const gateway = createGateway({ url: "http://localhost:3000", apiKey: "qrv_" });

/** Never called. */
export async function mustNotCompile(): Promise<void> {
  // @ts-expect-error -- the version is forgotten
  await gateway.qr.update.mutate({ short_id: "a", name: "x" });
  // @ts-expect-error -- the version is forgotten
  await gateway.qr.delete.mutate({ short_id: "a" });
  // @ts-expect-error -- the version is forgotten
  await gateway.agents.update.mutate({ agent_id: 1, name: "x" });
  // @ts-expect-error -- the version is forgotten
  await gateway.agents.deactivate.mutate({ agent_id: 1 });
  // @ts-expect-error -- the version is forgotten
  await gateway.bindings.attach.mutate({ short_id: "a", agent_id: 1 });
  // @ts-expect-error -- the version is forgotten
  await gateway.bindings.detach.mutate({ short_id: "a" });
  // @ts-expect-error -- a version is a number
  await gateway.qr.delete.mutate({ short_id: "a", if_match_version: "1" });
  // @ts-expect-error -- an agent has a name
  await gateway.agents.create.mutate({});
  // @ts-expect-error -- an id is a number
  await gateway.agents.get.query({ agent_id: "7" });
  // @ts-expect-error -- there is no such field
  await gateway.qr.create.mutate({ nmae: "x" });
  // @ts-expect-error -- a paywall is on or off
  await gateway.paywall.replace.mutate({ short_id: "a", paywall_enabled: null });
  // @ts-expect-error -- paywall takes no version
  await gateway.paywall.replace.mutate({ short_id: "a", paywall_enabled: true, if_match_version: 1 });
  // @ts-expect-error -- a query is not a mutation
  await gateway.qr.get.mutate({ short_id: "a" });
  // @ts-expect-error -- there is no such procedure
  await gateway.qr.restore.mutate({ short_id: "a" });
  // @ts-expect-error -- an answer's field that does not exist
  (await gateway.qr.get.query({ short_id: "a" })).title;
  // @ts-expect-error -- a reference may be null
  (await gateway.qr.get.query({ short_id: "a" })).external_reference.length;
  // @ts-expect-error -- a key is required
  createGateway({ url: "http://localhost:3000" });
}

/** Never called. */
export async function mustCompile(error: unknown): Promise<number> {
  const draft: GatewayInputs["qr"]["create"] = { name: "Front door", is_active: false, property_context: { rooms: 4 } };
  const qr: GatewayOutputs["qr"]["create"] = await gateway.qr.create.mutate(draft);
  await gateway.qr.create.mutate({ idempotency_key: "order-1" });
  await updateWithLatest(
    () => gateway.qr.get.query({ short_id: qr.short_id }),
    ({ short_id, resource_version }) =>
      gateway.qr.update.mutate({ short_id, if_match_version: resource_version, name: null }),
  );
  if (isGatewayError(error, "RESOURCE_VERSION_CONFLICT")) return error.data.error.details.current_version;
  if (isGatewayError(error, "VALIDATION_FAILED")) return error.data.error.details.issues.length;
  if (isGatewayError(error, "RESOURCE_NOT_FOUND")) {
    const nothing: null = error.data.error.details;
    return nothing ?? 0;
  }
  if (isGatewayError(error)) {
    // @ts-expect-error -- which details there are depends on the code
    error.data.error.details.current_version;
    return error.data.retry_after ?? 0;
  }
  // @ts-expect-error -- there is no such code
  isGatewayError(error, "TEAPOT");
  return 0;
}
