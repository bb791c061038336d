import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { hasTools, TOOLS } from "./tools.js";

type Json = Record<string, unknown>;
type Validate = ((value: unknown) => boolean) & { errors?: unknown };
interface Ajv {
  addSchema(schema: Json, key: string): unknown;
  getSchema(reference: string): Validate | undefined;
}
interface Operation {
  responses: Record<string, Json>;
}

/** The OpenAPI document's own judgement of answers, by ajv; made once. */
function readDocument() {
  const require = createRequire(join(TOOLS, "package.json"));
  const Ajv2020 = (require("ajv/dist/2020") as { default: new (options: Json) => Ajv }).default;
  const addFormats = (require("ajv-formats") as { default: (ajv: Ajv) => void }).default;
  const document = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"));
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(document, "openapi");
  const paths = Object.entries<Record<string, Operation>>(document.paths).map(([path, methods]) => ({
    path,
    methods,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
  }));
  // Literal segments first, as the gateway reads them.
  paths.sort((a, b) => (a.path.replaceAll("{", "~") < b.path.replaceAll("{", "~") ? -1 : 1));
  return { ajv, paths };
}

const escaped = (part: string) => part.replaceAll("~", "~0").replaceAll("/", "~1");

let document: ReturnType<typeof readDocument> | undefined;

/** An answer as the document sees it. */
export interface JudgedAnswer {
  method: string;
  url: string;
  status: number;
  hasHeader: (name: string) => boolean;
  body: string;
}

/** What the document says against an answer; undefined where it fits, or the path is none of its own. */
export function judge({ method, url, status, hasHeader, body }: JudgedAnswer): string | undefined {
  const { ajv, paths } = (document ??= readDocument());
  const path = url.split("?")[0] as string;
  const verb = method.toLowerCase();
  const found = paths.find(({ pattern, methods }) => pattern.test(path) && methods[verb] !== undefined);
  const response = found?.methods[verb]?.responses[status];
  if (found === undefined) return undefined;
  if (response === undefined) return `has status ${status}`;
  if (!hasHeader("x-request-id")) return "has no X-Request-ID";
  const pointer = ["paths", found.path, verb, "responses", String(status), "content", "application/json", "schema"];
  const validate = ajv.getSchema(`openapi#/${pointer.map(escaped).map(encodeURIComponent).join("/")}`);
  if (validate === undefined) return "has a body without a schema";
  return validate(JSON.parse(body)) ? undefined : JSON.stringify(validate.errors);
}

const violations: string[] = [];
let judged = 0;

/** Holds every answer of a gateway's `/v1` paths against the OpenAPI document; the run fails at its end if one does not fit. */
export function watchAnswers(server: Server): void {
  if (!hasTools) return;
  server.prependListener("request", (req, res) => {
    const { method = "", url = "" } = req;
    if (!url.startsWith("/v1") || !["GET", "POST", "PUT", "PATCH", "DELETE"].includes(method)) return;
    const { writeHead, end } = res;
    let names: string[] = [];
    res.writeHead = ((status: number, headers: string[] | Record<string, string>) => {
      const sent = Array.isArray(headers) ? headers.filter((_, index) => index % 2 === 0) : Object.keys(headers);
      names = sent.map((name) => name.toLowerCase());
      return writeHead.call(res, status, headers as never);
    }) as typeof res.writeHead;
    res.end = ((...values: [body: string | Buffer]) => {
      const hasHeader = (name: string) => names.includes(name);
      const problem = judge({ method, url, status: res.statusCode, hasHeader, body: String(values[0]) });
      judged += 1;
      if (problem !== undefined) violations.push(`${method} ${url}: ${problem}`);
      return end.apply(res, values as never);
    }) as typeof res.end;
  });
}

after("no answer is outside the OpenAPI document", () => {
  if (hasTools) process.stdout.write(`\n${judged} answers were held against the OpenAPI document.\n`);
  if (violations.length > 0) throw new Error(violations.slice(0, 20).join("\n"));
});
