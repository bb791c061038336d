import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { appRouter } from "../routers/index.js";
import { COMMON_HEADERS } from "../src/http.js";
import { endpointsOf } from "../src/procedures.js";
import { onEachBackend, sharedGateway } from "./support/backends.js";
import { chromiumPath, launchChromium } from "./support/chromium.js";
import { expectError, send } from "./support/http.js";
import { newOwner } from "./support/owners.js";
import { withHelp } from "./support/tools.js";

const publicPaths = [...endpointsOf(appRouter).values()]
  .filter((endpoint) => endpoint.isPublic)
  .map(({ operation }) => `${operation.method} ${operation.path}`)
  .sort();

onEachBackend("docs page", (backend) => {
  it("is served with the headers of everything else, whole, and without another host's name", async () => {
    const { url } = await sharedGateway(backend);
    for (const path of ["/docs", "/docs/", "/docs/initializer.js", "/docs/swagger-ui.css", "/docs/favicon-32x32.png"]) {
      const answer = await send(url, { method: "GET", path, headers: { "X-Request-ID": "docs-1" } });
      expect(answer.status, path).to.equal(200);
      expect(answer.headers["x-request-id"]).to.equal("docs-1");
      for (const [name, value] of COMMON_HEADERS) expect(answer.headers[name.toLowerCase()], name).to.equal(value);
      if (!path.includes(".")) expect(answer.text).to.not.match(/https?:/);
    }
    const head = await send(url, { method: "HEAD", path: "/docs" });
    expect([head.status, head.text]).to.deep.equal([200, ""]);
  });

  it("serves nothing else of the package", async () => {
    const { url } = await sharedGateway(backend);
    for (const path of ["/docs/package.json", "/docs/index.html", "/docs/../package.json", "/Docs", "/docs/x"]) {
      expectError(await send(url, { method: "GET", path }), 404, "ROUTE_NOT_FOUND");
    }
  });
});

const help = { present: chromiumPath !== undefined, missing: "there is no Chromium; set CHROMIUM_PATH." };

withHelp("docs page in Chromium", help, () => {
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  before(async function () {
    this.timeout(60_000);
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("requestfailed", (request) => complaints.push(`${request.url()} failed`));
    const { url } = await sharedGateway("sqlite");
    await page.goto(`${url}/docs`);
    await page.waitForSelector(".opblock");
  });

  after(async () => browser?.close());

  it("lists every operation and nothing is complained of", async function () {
    this.timeout(60_000);
    const texts = async (part: string) =>
      (await page.locator(`.opblock-summary-${part}`).allTextContents()).map((text) =>
        text.replaceAll("\u200B", "").trim(),
      );
    const [methods, paths] = [await texts("method"), await texts("path")];
    const listed = methods.map((method, index) => `${method} ${paths[index]}`);
    expect(listed.sort()).to.deep.equal(publicPaths);
    expect(listed).to.have.length(19);
    if (process.env.DOCS_SCREENSHOT) await page.screenshot({ path: process.env.DOCS_SCREENSHOT });
    expect(complaints).to.deep.equal([]);
  });

  it("tries an operation with a key typed in", async function () {
    this.timeout(60_000);
    const { key, api } = await newOwner("sqlite");
    await page.click(".auth-wrapper .authorize");
    await page.fill(".auth-container input", key);
    await page.click(".auth-btn-wrapper .authorize");
    await page.click(".auth-btn-wrapper .btn-done");

    const operation = page.locator(".opblock-post", { hasText: "Create a QR code" });
    await operation.locator(".opblock-summary-control").click();
    await operation.locator(".execute").click();
    const answer = operation.locator(".live-responses-table .response-col_status");
    await answer.nth(1).waitFor();
    if (process.env.DOCS_SCREENSHOT) await operation.screenshot({ path: `${process.env.DOCS_SCREENSHOT}.try.png` });
    expect(await answer.nth(1).innerText()).to.match(/^200/);
    expect((await api.get("/v1/qr")).body).to.have.length(1);
    expect(complaints).to.deep.equal([]);
  });
});
