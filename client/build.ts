/**
 * Makes dist/client/{esm,cjs} from what tsc has emitted: one JavaScript file each, and declarations that name no server
 * module. tsc writes the router's type out in full; what it still refers to is replaced here, and anything new fails.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const DIST = new URL("../dist/", import.meta.url);
const DECLARATIONS = ["index", "errors", "update", "backoff"];

/** Of the server's own types only the error's shape reaches a caller; context and meta stay behind. */
const SUBSTITUTES: [RegExp, string][] = [
  [/import\("\.\.\/src\/context\.js"\)\.Context/g, "object"],
  [/import\("\.\.\/src\/operation\.js"\)\.ProcedureMeta/g, "object"],
  [/import\("\.\.\/src\/errors\.js"\)\.PublicError/g, 'import("./public-error.js").PublicError'],
];

const emitted = (path: string) => readFile(new URL(path, DIST), "utf8");

/** The type of the router, standing on its own. */
async function routerTypes(): Promise<string> {
  const text = SUBSTITUTES.reduce((types, [from, to]) => types.replace(from, to), await emitted("routers/index.d.ts"));
  return text.replace("export declare const appRouter", "declare const appRouter");
}

/** What a failure looks like, written out from the error table. */
async function errorTypes(): Promise<string> {
  const { ERRORS } = await import("../src/errors.js");
  const codes = Object.keys(ERRORS).map((code) => `  | "${code}"`);
  const text = await emitted("src/errors.d.ts");
  const wanted = ["IssueLocation", "RequestIssue", "ErrorDetails", "PublicError"];
  const declarations = wanted.map((name) => {
    const found = new RegExp(`export (?:type|interface) ${name}\\b[\\s\\S]*?\\n(?=/\\*\\*|interface |export )`).exec(
      `${text}\nexport `,
    );
    if (found === null) throw new Error(`src/errors.d.ts declares no ${name}.`);
    return found[0].replace(/^export /, name === "PublicError" ? "export " : "");
  });
  return `type ErrorCode =\n${codes.join("\n")};\n${declarations.join("")}`;
}

const ALLOWED = /^(@trpc\/(client|server)|\.\/(index|errors|update|backoff|router|public-error)\.js)$/;

function assertSelfContained(name: string, text: string): void {
  for (const [, specifier] of text.matchAll(/(?:from |import\()"([^"]+)"/g)) {
    if (!ALLOWED.test(specifier as string)) throw new Error(`${name}.d.ts of the client refers to ${specifier}.`);
  }
}

async function declarations(): Promise<[name: string, text: string][]> {
  const own = DECLARATIONS.map(async (name): Promise<[string, string]> => {
    const text = await emitted(`client/${name}.d.ts`);
    return [name, text.replaceAll("../routers/index.js", "./router.js")];
  });
  return [...(await Promise.all(own)), ["router", await routerTypes()], ["public-error", await errorTypes()]];
}

const files = await declarations();
for (const format of ["esm", "cjs"] as const) {
  const directory = new URL(`client/${format}/`, DIST);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await build({
    entryPoints: [new URL("index.ts", import.meta.url).pathname],
    outfile: new URL("index.js", directory).pathname,
    bundle: true,
    packages: "external",
    platform: "neutral",
    target: "es2022",
    format,
  });
  const type = format === "esm" ? "module" : "commonjs";
  await writeFile(new URL("package.json", directory), `{ "type": "${type}" }\n`);
  for (const [name, text] of files) {
    assertSelfContained(name, text);
    await writeFile(new URL(`${name}.d.ts`, directory), text);
  }
}
