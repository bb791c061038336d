import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where `npm run tools` puts what other people use on this interface. */
export const TOOLS = fileURLToPath(new URL("../../tools/", import.meta.url));

/** Whether `npm run tools` was run. */
export const hasTools = existsSync(
  new URL("node_modules/.package-lock.json", new URL("../../tools/", import.meta.url)),
);

/** Runs a suite that needs something of the machine; without it, it is skipped loudly, and fails where CI=true. */
export function withHelp(title: string, help: { present: boolean; missing: string }, suite: () => void): void {
  if (help.present) {
    describe(title, suite);
  } else if (process.env.CI === "true") {
    describe(title, () => {
      it("has what it needs", () => {
        throw new Error(`CI=true, but ${help.missing}`);
      });
    });
  } else {
    process.stderr.write(`\nSKIPPED: ${title}: ${help.missing}\n`);
    describe.skip(title, suite);
  }
}
