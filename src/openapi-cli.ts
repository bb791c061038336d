import { writeFile } from "node:fs/promises";
import { appRouter } from "../routers/index.js";
import { openApiText } from "./openapi.js";

await writeFile(new URL("../openapi.json", import.meta.url), openApiText(appRouter));
