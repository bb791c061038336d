/** A gateway in a process of its own, to be killed; prints its port. Its environment is a gateway's. */
import { appRouter } from "../../routers/index.js";
import { readConfig } from "../../src/config.js";
import { createGateway } from "../../src/gateway.js";
import { createLogger } from "../../src/logging.js";
import { QUICK } from "./paces.js";

const log = createLogger({ logLevel: "silent" });
const gateway = await createGateway(readConfig(process.env), appRouter, log, { greetings: { timings: QUICK } });
gateway.server.listen(0, "127.0.0.1", () => {
  const { port } = gateway.server.address() as { port: number };
  process.stdout.write(`${port}\n`);
});
