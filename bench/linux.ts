import { readdirSync, readFileSync } from "node:fs";

const MICROS_PER_TICK = 10_000;

/** A line of /proc/PID/stat after the command, which may hold blanks; null where the process is gone. */
function readStat(pid: number): { parent: number; ticks: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch {
    return null;
  }
}

/** A process and all that it started, directly or not. */
export function processTree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync("/proc")) {
    const stat = /^\d+$/.test(entry) ? readStat(Number(entry)) : null;
    if (stat !== null) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** User and system CPU that these processes have used, all threads, in microseconds; exact to 10 ms each. */
export function cpuMicros(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readStat(pid)?.ticks ?? 0) * MICROS_PER_TICK, 0);
}

/** Resident memory of these processes in MiB; what they share is counted in each. */
export function residentMiB(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return sum + Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
  }, 0);
}

/** The processes of a local MariaDB or MySQL server; empty where it runs elsewhere, and its CPU cannot be read. */
export function databaseProcesses(): number[] {
  const names = new Set(["mariadbd", "mysqld"]);
  const isDatabase = (pid: string) => {
    try {
      return names.has(readFileSync(`/proc/${pid}/comm`, "utf8").trim());
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && isDatabase(entry))
    .map(Number);
}
