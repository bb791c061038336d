// A worker thread starts without the loader that reads TypeScript, whatever flags it is given, so it is registered here.
import { register } from "tsx/esm/api";

register();
await import("./espeak-worker.ts");
