import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { Express } from "express";
import { COMMON_HEADERS } from "./http.js";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>qr-voice-gateway</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/initializer.js" type="module"></script>
  </body>
</html>
`;

/**
 * A file of its own, since the Content-Security-Policy takes no inline script. Swagger UI fills a parameter with its example:
 * right for an id, but an optional header would be sent with every try, and the second one would be a replay of the first.
 */
const INITIALIZER = `const answer = await fetch("/openapi.json");
const spec = await answer.json();
for (const parameter of Object.values(spec.components.parameters)) if (!parameter.required) delete parameter.example;
SwaggerUIBundle({
  spec,
  dom_id: "#swagger-ui",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

const ASSETS = [
  ["swagger-ui.css", "text/css; charset=utf-8"],
  ["swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["favicon-32x32.png", "image/png"],
] as const;

function send(req: IncomingMessage, res: ServerResponse, type: string, body: string | Buffer): void {
  const { requestId } = req as IncomingMessage & { requestId: string };
  const length = String(Buffer.byteLength(body));
  const headers = [...COMMON_HEADERS.flat(), "Content-Type", type, "X-Request-ID", requestId, "Content-Length", length];
  res.writeHead(200, headers);
  res.end(body);
}

/**
 * Mounts the page at `/docs`: the OpenAPI document to read and to try, with nothing from another host. On the application
 * itself: a router of its own answers OPTIONS by itself, with 200.
 */
export function mountDocs(app: Express): void {
  const { resolve } = createRequire(import.meta.url);
  app.get(["/docs", "/docs/"], (req, res) => send(req, res, "text/html; charset=utf-8", PAGE));
  app.get("/docs/initializer.js", (req, res) => send(req, res, "text/javascript; charset=utf-8", INITIALIZER));
  for (const [name, type] of ASSETS) {
    const path = resolve(`swagger-ui-dist/${name}`);
    let content: Promise<Buffer> | undefined;
    app.get(`/docs/${name}`, async (req, res) => send(req, res, type, await (content ??= readFile(path))));
  }
}
