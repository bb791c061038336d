import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { sharedGateway } from "./support/backends.js";
import { newOwner } from "./support/owners.js";
import { run } from "./support/run.js";
import { hasTools, TOOLS, withHelp } from "./support/tools.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TYPESCRIPT = { 7: join(ROOT, "node_modules/.bin/tsc"), 5: join(TOOLS, "node_modules/.bin/tsc") };
const help = { present: hasTools, missing: "its tools are not installed; `npm run tools` installs them." };

const COMPILER = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  module: "nodenext",
  target: "es2022",
  types: ["node"],
  outDir: "out",
};

withHelp("packed client", help, () => {
  let directory: string;
  let tarball: string;
  let app: string;

  before(async function () {
    this.timeout(240_000);
    directory = await mkdtemp(join(tmpdir(), "qrv-app-"));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", directory], { cwd: ROOT });
    const packed: unknown = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)));
    const [{ filename }] = Object.values(packed as { filename: string }[]) as [{ filename: string }];
    tarball = join(directory, filename);
    app = directory;
    await writeFile(join(app, "package.json"), '{ "name": "empty-app", "private": true }\n');
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    await run("npm", ["install", ...flags, tarball, "@types/node@20"], { cwd: app });
    const tour = await readFile(join(ROOT, "test/apps/tour.ts"), "utf8");
    const types = await readFile(join(ROOT, "test/client-types.ts"), "utf8");
    const installed = types.replace("../client/index.js", "qr-voice-gateway/client");
    for (const extension of ["mts", "cts"]) {
      await writeFile(join(app, `tour.${extension}`), tour);
      await writeFile(join(app, `types.${extension}`), installed);
    }
    await writeFile(
      join(app, "tsconfig.json"),
      JSON.stringify({ compilerOptions: COMPILER, include: ["*.mts", "*.cts"] }),
    );
  });

  after(() => rm(directory, { recursive: true, force: true }));

  it("holds what runs, and nothing else", async () => {
    const { stdout } = await run("tar", ["-tzf", tarball]);
    const files = stdout.trim().split("\n");
    const tops = new Set(files.map((file) => file.split("/").slice(1, 3).join("/")));
    expect([...tops].filter((top) => !/^README\.md$/.test(top)).sort()).to.deep.equal([
      "dist/client",
      "dist/entities",
      "dist/routers",
      "dist/src",
      "openapi.json",
      "package.json",
    ]);
    expect(files.filter((file) => file.startsWith("package/dist/client/") && !/\/(esm|cjs)\//.test(file))).to.be.empty;
  });

  it("brings no server code with the client", async () => {
    for (const format of ["esm", "cjs"]) {
      const at = join(app, "node_modules/qr-voice-gateway/dist/client", format);
      const code = await readFile(join(at, "index.js"), "utf8");
      expect(code).to.not.match(/express|typeorm|mysql|better-sqlite3|redis|pino|zod|\/src\/|\/routers\//i);
      const imported = [...code.matchAll(/(?:from |require\(|import\()"([^"]+)"/g)].map(([, name]) => name);
      expect([...new Set(imported)]).to.have.members(["@trpc/client", "@trpc/server/observable"]);
      const router = await readFile(join(at, "router.d.ts"), "utf8");
      expect(router).to.not.match(/express|typeorm|zod|\.\.\//);
    }
  });

  for (const version of [7, 5] as const) {
    it(`compiles under strict in ESM and CJS, and what must not compile does not, with TypeScript ${version}`, async function () {
      this.timeout(120_000);
      await run(TYPESCRIPT[version], ["-p", app], { cwd: app });
    });
  }

  for (const extension of ["mjs", "cjs"]) {
    it(`goes from nothing to a ready QR code as .${extension}`, async function () {
      this.timeout(60_000);
      const { key } = await newOwner("sqlite");
      const { url } = await sharedGateway("sqlite");
      const env = { ...process.env, GATEWAY_URL: url, GATEWAY_KEY: key };
      const { stdout } = await run(process.execPath, [`out/tour.${extension}`], { cwd: app, env });
      expect(JSON.parse(stdout)).to.deep.equal({ status: "ready", current: 1 });
    });
  }

  it("satisfies publint and arethetypeswrong", async function () {
    this.timeout(120_000);
    const bin = (name: string) => join(TOOLS, "node_modules/.bin", name);
    await run(bin("publint"), [join(app, "node_modules/qr-voice-gateway"), "--strict"]);
    await run(bin("attw"), [tarball, "--profile", "node16"]);
  });
});
