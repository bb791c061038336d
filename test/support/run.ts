import { execFile } from "node:child_process";

/** What a program left behind. */
export interface Finished {
  code: number;
  /** Both streams, in one. */
  output: string;
  stdout: string;
}

/** Runs a program to its end; rejects with all it printed where that is not 0 and `mayFail` is not set. */
export function run(
  file: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; mayFail?: boolean } = {},
): Promise<Finished> {
  const { mayFail, ...rest } = options;
  return new Promise((resolve, reject) => {
    execFile(file, args, { maxBuffer: 64 * 1024 * 1024, ...rest }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      const code = typeof error?.code === "number" ? error.code : Number(error !== null);
      if (error !== null && mayFail !== true)
        reject(new Error(`${file} ${args.join(" ")}\n${output || error.message}`));
      else resolve({ code, output, stdout });
    });
  });
}
