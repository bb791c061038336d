/**
 * Writes postman/ from openapi.json: a folder with every operation, made by openapi-to-postmanv2, and a tour that runs. The
 * converter makes up ids and values anew each time; both are replaced, so that the same document gives the same files.
 */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { END, ERRORS } from "./postman-end.js";
import type { Step } from "./postman-step.js";
import { TOUR } from "./postman-tour.js";

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of Postman's and OpenAPI's shape
type Json = Record<string, any>;

const ROOT = new URL("..", import.meta.url);

const VERSION_VARIABLES: [part: string, variable: string][] = [
  ["/v1/qr/{short_id}/agent", "{{binding_version}}"],
  ["/v1/agents", "{{agent_version}}"],
  ["/v1/qr", "{{qr_version}}"],
];

const script = (listen: "test" | "prerequest", exec: string[]): Json => ({
  listen,
  script: { type: "text/javascript", exec },
});

/** Holds for every answer of the gateway, so it runs after every request. */
const EVERY_ANSWER = [
  'pm.test("carries a request id", () => pm.response.to.have.header("X-Request-ID"));',
  'pm.test("is JSON that nobody stores", () => {',
  '  pm.expect(pm.response.headers.get("Content-Type")).to.equal("application/json; charset=utf-8");',
  '  pm.expect(pm.response.headers.get("Cache-Control")).to.equal("no-store");',
  "});",
  "if (pm.response.code !== 200) {",
  '  pm.test("is PublicErrorEnvelope", () => {',
  "    const { error, ...rest } = pm.response.json();",
  "    pm.expect(rest).to.eql({});",
  '    pm.expect(Object.keys(error)).to.have.members(["code", "message", "request_id", "details"]);',
  '    pm.expect(error.request_id).to.equal(pm.response.headers.get("X-Request-ID"));',
  "  });",
  "}",
];

const apiKey = (value: string): Json => ({
  type: "apikey",
  apikey: [
    { key: "key", value: "X-API-Key", type: "string" },
    { key: "value", value, type: "string" },
    { key: "in", value: "header", type: "string" },
  ],
});

function bodyOf(value: unknown): Json {
  const raw = JSON.stringify(value, null, 2).replaceAll('"{{agent_id}}"', "{{agent_id}}");
  return { mode: "raw", raw, options: { raw: { language: "json" } } };
}

function stepItem(step: Step): Json {
  const headers = Object.entries(step.headers ?? {}).map(([key, value]) => ({ key, value }));
  const isSent = step.body !== undefined;
  const tests = [
    `pm.test("answers ${step.status}", () => pm.response.to.have.status(${step.status}));`,
    "const body = pm.response.json();",
    ...(step.code === undefined
      ? []
      : [`pm.test("is ${step.code}", () => pm.expect(body.error.code).to.equal("${step.code}"));`]),
    ...(step.after ?? []),
  ];
  return {
    name: step.name,
    event: [...(step.before === undefined ? [] : [script("prerequest", step.before)]), script("test", tests)],
    request: {
      method: step.method,
      ...(step.key === undefined ? {} : { auth: step.key === null ? { type: "noauth" } : apiKey(step.key) }),
      header: [...headers, ...(isSent ? [{ key: "Content-Type", value: "application/json" }] : [])],
      ...(isSent ? { body: bodyOf(step.body) } : {}),
      url: `{{base_url}}${step.path}`,
    },
  };
}

/** One operation as the converter made it, with variables and the document's own examples for what it made up. */
function operationItem(converted: Json, document: Json): Json {
  const { request } = converted;
  const path = `/${request.url.path.join("/")}`.replace(/:(\w+)/g, "{$1}");
  const operation = document.paths[path][request.method.toLowerCase()];
  const version = VERSION_VARIABLES.find(([part]) => path.startsWith(part))?.[1];
  const kept: Record<string, string | undefined> = {
    "If-Match-Version": version,
    "Content-Type": "application/json",
    Accept: "application/json",
  };
  const header = request.header.map(({ key }: Json) =>
    kept[key] === undefined ? { key, value: "{{$guid}}", disabled: true } : { key, value: kept[key] },
  );
  const example = operation.requestBody?.content["application/json"].example;
  const isAttach = operation.requestBody !== undefined && path.endsWith("/agent");
  const statuses = Object.keys(operation.responses).map(Number);
  return {
    name: operation.summary,
    event: [
      script("test", [
        `pm.test("has a documented status", () => pm.expect(pm.response.code).to.be.oneOf(${JSON.stringify(statuses)}));`,
      ]),
    ],
    request: {
      method: request.method,
      description: operation.description ?? operation.summary,
      header,
      ...(example === undefined ? {} : { body: bodyOf(isAttach ? { ...example, agent_id: "{{agent_id}}" } : example) }),
      url: {
        raw: `{{base_url}}/${request.url.path.join("/")}`,
        host: ["{{base_url}}"],
        path: request.url.path,
        query: request.url.query.map(({ key, value }: Json) => ({ key, value, disabled: true })),
        variable: request.url.variable.map(({ key }: Json) => ({ key, value: `{{${key}}}` })),
      },
    },
  };
}

/** The files of postman/ by name, as text. */
export async function postmanFiles(): Promise<Record<string, string>> {
  const data = await readFile(new URL("openapi.json", ROOT), "utf8");
  const document = JSON.parse(data) as Json;
  const converter = createRequire(import.meta.url)("openapi-to-postmanv2") as {
    convertV2: (input: Json, options: Json, done: (error: Error | null, result: Json) => void) => void;
  };
  const options = { folderStrategy: "Tags", requestParametersResolution: "Example" };
  const { result, reason, output } = await promisify(converter.convertV2)({ type: "string", data }, options);
  if (!result) throw new Error(`openapi-to-postmanv2: ${reason}`);

  const folder = (name: string, steps: Step[]) => ({ name, item: steps.map(stepItem) });
  const operations = output[0].data.item.map(({ name, item }: Json) => ({
    name,
    item: item.map((one: Json) => operationItem(one, document)),
  }));
  const collection = {
    info: {
      name: document.info.title,
      description: document.info.description,
      version: document.info.version,
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    auth: apiKey("{{api_key}}"),
    event: [script("test", EVERY_ANSWER)],
    item: [
      { name: "Tour", item: [folder("1 Set up", TOUR), folder("2 Errors", ERRORS), folder("3 Take down", END)] },
      { name: "Operations", item: operations },
    ],
  };
  const secret = (key: string) => ({ key, value: "", type: "secret", enabled: true });
  const environment = {
    name: document.info.title,
    values: [
      { key: "base_url", value: "http://localhost:3000", type: "default", enabled: true },
      secret("api_key"),
      secret("read_only_api_key"),
    ],
    _postman_variable_scope: "environment",
  };
  const text = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
  return { "collection.json": text(collection), "environment.json": text(environment) };
}

if (import.meta.url === pathToFileURL(process.argv[1] as string).href) {
  for (const [name, text] of Object.entries(await postmanFiles())) {
    await writeFile(new URL(`postman/${name}`, ROOT), text);
  }
}
