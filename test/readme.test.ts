import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { newOwner } from "./support/owners.js";
import { onEachBackend } from "./support/backends.js";

const SEPARATOR = "--- next ---";

/** What differs from run to run, as one name each. */
function settled(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, "REQUEST_ID")
    .replaceAll(/https?:\/\/[^"]*\//g, "BASE/")
    .replaceAll(/\b(?=\w*[A-Z])(?=\w*[a-z])[2-9a-zA-Z]{10}\b/g, (word) =>
      /[A-Z].*[a-z]|[a-z].*[A-Z]/.test(word) ? "SHORT_ID" : word,
    )
    .replaceAll(/"(id|agent_id)":\d+/g, '"$1":AGENT')
    .trim();
}

/** The commands of the README's tour, each with the output under it. */
async function readTour(): Promise<{ command: string; output: string }[]> {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const tour = readme.slice(readme.indexOf("## A tour"), readme.indexOf("## For integrators"));
  const blocks = [...tour.matchAll(/```console\n([\s\S]*?)```/g)].map((match) => match[1] as string);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf("\n");
        return { command: part.slice(0, end), output: part.slice(end + 1) };
      }),
  );
}

describe("The README's program for internal apps", () => {
  it("is the one that is compiled and run from a packed tarball", async () => {
    const [readme, program] = await Promise.all(
      ["../README.md", "./apps/tour.ts"].map((path) => readFile(new URL(path, import.meta.url), "utf8")),
    );
    expect(readme).to.include(program?.slice(program.indexOf("import {")));
  });
});

onEachBackend("The README's tour", (backend) => {
  it("answers as it says", async function () {
    this.timeout(30_000);
    const owner = await newOwner(backend);
    const steps = await readTour();
    expect(steps.length).to.be.greaterThan(10);
    const script = [
      `auth="X-API-Key: ${owner.key}" json="Content-Type: application/json" url=${owner.running.url}`,
      ...steps.flatMap(({ command }) => [command, `echo; echo '${SEPARATOR}'`]),
    ].join("\n");
    const directory = await mkdtemp(join(tmpdir(), "qrv-tour-"));
    const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: directory });
    await rm(directory, { recursive: true });
    const outputs = stdout.split(SEPARATOR);
    for (const [index, { command, output }] of steps.entries()) {
      expect(settled(outputs[index] as string), command).to.equal(settled(output));
    }
  });
});
