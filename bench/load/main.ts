/** The load generator's process: takes rounds over IPC and answers each with what it measured. */
import { type RoundRequest, runRound } from "./round.js";

process.on("message", (request: RoundRequest) => {
  runRound(request).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
