/** The greeting worker's paces that a test can wait for, in milliseconds. */
export const QUICK = { leaseMs: 600, heartbeatMs: 100, idleMs: 50, backoffMs: 20, maxBackoffMs: 200 };
