import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

/** A table of texts; every row has as many cells as there are columns. */
export interface Table {
  title: string;
  columns: string[];
  rows: string[][];
}

/** A number with as many digits as it deserves. */
export function figure(value: number, digits = 0): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "–";
}

/** The table as columns aligned with blanks: the first two to the left, figures to the right. */
export function aligned(table: Table): string {
  const widths = table.columns.map((_, column) =>
    Math.max(...[table.columns, ...table.rows].map((row) => row[column]!.length)),
  );
  const line = (row: string[]) =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join("  ");
  return [table.title, line(table.columns), ...table.rows.map(line), ""].join("\n");
}

const markdownLine = (cells: string[]) => `| ${cells.join(" | ")} |`;

/** The table in Markdown. */
export function markdown(table: Table): string {
  const rule = markdownLine(table.columns.map((_, column) => (column < 2 ? "---" : "---:")));
  return [`### ${table.title}`, "", markdownLine(table.columns), rule, ...table.rows.map(markdownLine), ""].join("\n");
}

/** When, how and on what the figures were taken; `script` is that of package.json. */
export function provenance(script: string): string {
  const command = ["npm run", script, "--", ...process.argv.slice(2)].join(" ");
  const cores = cpus();
  const machine = `${cores.length} × ${cores[0]?.model ?? "unknown"}, Node ${process.versions.node}`;
  return `${new Date().toISOString().slice(0, 10)}, \`${command}\`, ${machine}.\n`;
}

/** Writes the text between the lines `<!-- NAME -->` and `<!-- /NAME -->` of a file that has them; any other file becomes the text. */
export function writeResults(file: string, name: string, text: string): void {
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  const mark = `\n<!-- ${name} -->\n`;
  const start = before.indexOf(mark);
  const end = before.indexOf(`\n<!-- /${name} -->\n`);
  const keeps = start !== -1 && end > start;
  writeFileSync(file, keeps ? `${before.slice(0, start)}${mark}\n${text}${before.slice(end)}` : text);
}
