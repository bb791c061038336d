import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { RoundRequest, RoundResult } from "./round.js";

type Answer = { result: RoundResult } | { error: string };

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

/** The load generator in a process of its own, kept for the whole run so that its code is warm and its row versions stay known. */
export class Generator {
  #process: ChildProcess = fork(MAIN, { execArgv: ["--import", "tsx"] });

  /** Runs one round and returns what it measured; throws where the load itself could not go on. */
  async run(request: RoundRequest): Promise<RoundResult> {
    const answer = await this.#ask(request);
    if ("error" in answer) throw new Error(answer.error);
    return answer.result;
  }

  /** Ends the process. */
  stop(): void {
    this.#process.kill();
  }

  #ask(request: RoundRequest): Promise<Answer> {
    return new Promise((resolve) => {
      const answered = (answer: Answer) => {
        this.#process.off("exit", gone);
        this.#process.off("message", answered);
        resolve(answer);
      };
      const gone = () => answered({ error: "The load generator ended by itself." });
      this.#process.once("exit", gone).on("message", answered);
      this.#process.send(request);
    });
  }
}
