/** Shared parts of the tools' tests: a recorder instead of the terminal, and tasks. */
import type { Io } from "../../../tools/command.ts";

export class Recorder implements Io {
  readonly lines: string[] = [];
  readonly failures: string[] = [];
  readonly drawn: string[] = [];
  readonly screen: Io["screen"];

  constructor(isTerminal = false) {
    this.screen = { isTerminal, write: (text) => void this.drawn.push(text) };
  }

  out(line: string): void {
    this.lines.push(line);
  }

  fail(line: string): void {
    this.failures.push(line);
  }

  /** Returns the number after a label of the summary. */
  count(label: string): number {
    const line = this.lines.find((line) => line.trim().startsWith(label));
    return Number(/\d+/.exec(line ?? "")?.[0] ?? NaN);
  }
}

/** Runs `deno task …` in a separate process, as a user does. */
export function runTask(...args: string[]) {
  return runTaskWith({}, ...args);
}

export async function runTaskWith(settings: Record<string, string>, ...args: string[]) {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", ...args],
    cwd: new URL("../../..", import.meta.url),
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...settings },
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return {
    code: output.code,
    stdout: text.decode(output.stdout),
    stderr: text.decode(output.stderr),
  };
}
