import { router } from "../src/trpc.js";
import { agents } from "./agents.js";
import { bindings } from "./bindings.js";
import { capabilities } from "./capabilities.js";
import { paywall } from "./paywall.js";
import { qr } from "./qr.js";

/** Every operation. */
export const appRouter = router({ capabilities, qr, paywall, agents, bindings });

/** Its type: all that a typed client needs. */
export type AppRouter = typeof appRouter;
