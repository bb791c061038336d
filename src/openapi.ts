import type { AnyRouter } from "@trpc/server";
import { generateOpenApiDocument } from "trpc-to-openapi";
import { HEADER_MEMBERS } from "./failure.js";
import {
  errorResponse,
  type Fragment,
  headerParameters,
  HEADERS,
  PARAMETERS,
  PUBLIC_ERROR_ENVELOPE,
  successHeaders,
} from "./openapi-parts.js";
import { errorStatuses } from "./operation.js";
import { type Endpoint, endpointsOf } from "./procedures.js";
import { SCOPES } from "./scopes.js";

const DESCRIPTION = `An owner-scoped control plane for QR codes that answer: create codes and voice agents, bind one to the other,
put a paywall in front, and ask, without side effects, whether a code is ready for the public.

- **Order of checks**: route, key (401), scope (403), version present (428), the request's form (422), idempotency, visibility (404), version (409), state (409).
- **Bodies** are read strictly: JSON objects in UTF-8, at most 1 MiB; unknown fields are refused and named; nothing is coerced. Lengths are in code points.
- **PATCH**: absent leaves a field as it is, null clears it where it can be empty.
- **Versions** start at 1, and every accepted versioned mutation adds exactly 1.
- **Failures** are PublicErrorEnvelope, always.`;

const TAGS: Record<string, string> = {
  capabilities: "What a key may do.",
  qr: "QR codes.",
  paywall: "Paywall configuration of QR codes.",
  agents: "Voice agents.",
  bindings: "Which agent answers at which QR code.",
};

const byRef = (document: Fragment, schema: Fragment): Fragment =>
  schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").pop()];

/** An example of a schema, from the examples of its members. */
function exampleOf(document: Fragment, given: Fragment): unknown {
  const schema = byRef(document, given);
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.example !== undefined) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.anyOf !== undefined) return exampleOf(document, schema.anyOf[0]);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object") {
    const members = Object.entries<Fragment>(schema.properties ?? {});
    return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(document, member)]));
  }
  if (type === "array") return [exampleOf(document, schema.items)];
  if (type === "boolean") return true;
  return type === "integer" ? 1 : "text";
}

/** Takes the members that REST carries in headers out of a body, and gives the body its name. */
function completeBody(document: Fragment, operation: Fragment): void {
  const content = operation.requestBody?.content["application/json"];
  if (content === undefined) return;
  const { schema } = content;
  for (const member of Object.keys(HEADER_MEMBERS)) delete schema.properties[member];
  const required = (schema.required ?? []).filter((name: string) => !Object.hasOwn(HEADER_MEMBERS, name));
  if (required.length > 0) schema.required = required;
  else delete schema.required;
  if (Object.keys(schema.properties).length === 0) {
    delete operation.requestBody;
    return;
  }
  const name: string = schema.title;
  delete schema.title;
  document.components.schemas[name] = schema;
  const example = exampleOf(document, schema);
  delete schema.examples;
  operation.requestBody = {
    required: true,
    content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` }, example } },
  };
}

function completeOperation(document: Fragment, generated: Fragment, endpoint: Endpoint): void {
  const { operation, name } = endpoint;
  const isHeaderMember = (parameter: Fragment) => Object.hasOwn(HEADER_MEMBERS, parameter.name);
  const parameters = (generated.parameters ?? []).filter((parameter: Fragment) => !isHeaderMember(parameter));
  generated.description ??= `${generated.summary}.`;
  generated.tags = [name.split(".")[0]];
  generated.security = [{ ApiKey: operation.scopes }];
  generated.parameters = [...parameters, ...headerParameters(operation)];
  completeBody(document, generated);

  const success = generated.responses["200"];
  success.description = "Done.";
  success.headers = successHeaders(operation);
  const content = success.content["application/json"];
  content.example = exampleOf(document, content.schema);
  generated.responses = { "200": success };
  for (const status of errorStatuses(operation)) generated.responses[status] = errorResponse(operation, status);
}

/** trpc-to-openapi's document of a router, completed with what it does not know: headers, scopes, statuses, examples. */
function openApiDocument(router: AnyRouter): Fragment {
  const scopes = Object.entries(SCOPES).map(([name, description]) => `- \`${name}\`: ${description}`);
  const document: Fragment = generateOpenApiDocument(router, {
    title: "qr-voice-gateway",
    version: "1.0.0",
    description: DESCRIPTION,
    baseUrl: "/",
    openApiVersion: "3.1.0",
    securitySchemes: {
      ApiKey: {
        type: "apiKey",
        in: "header",
        name: "X-API-Key",
        description: `A key of the owner whose resources are meant. Each operation names the scopes it needs:\n\n${scopes.join("\n")}`,
      },
    },
  });
  document.info.license = { name: "MIT", identifier: "MIT" };
  document.info.contact = { name: "qr-voice-gateway", url: "https://www.npmjs.com/package/qr-voice-gateway" };
  document.tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
  const { schemas } = document.components;
  for (const name of Object.keys(schemas)) if (name.startsWith("error.")) delete schemas[name];
  schemas.PublicErrorEnvelope = PUBLIC_ERROR_ENVELOPE;
  document.components.parameters = PARAMETERS;
  document.components.headers = HEADERS;
  for (const endpoint of endpointsOf(router).values()) {
    if (!endpoint.isPublic) continue;
    const { method, path } = endpoint.operation;
    completeOperation(document, document.paths[path][method.toLowerCase()], endpoint);
  }
  return document;
}

/** The OpenAPI document as the text that is committed and served. */
export function openApiText(router: AnyRouter): string {
  return `${JSON.stringify(openApiDocument(router), null, 2)}\n`;
}
