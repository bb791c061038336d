import { Initial1700000000000 } from "./1700000000000-initial.js";

/** Every migration, oldest first. */
export const migrations = [Initial1700000000000];
