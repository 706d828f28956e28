/** Shared parts of the tools' tests: a recorder instead of the terminal, and small sample files. */
import type { Io } from "../../../tools/command.ts";

/** Records a tool's output. */
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

/** Creates a step in the format of trajectory files. */
export function aStep(n: number, fields: Record<string, unknown> = {}) {
  return {
    thought: `thought ${n}`,
    response: `text ${n}`,
    action: `cat file_${n}.txt\n`,
    observation: `content ${n}`,
    ...fields,
  };
}

/** Creates a trajectory file with two steps. */
export function aTrajectory(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    environment: "main",
    trajectory: [aStep(1, { execution_time: 0.25 }), aStep(2)],
    history: [],
    info: {
      exit_status: "submitted",
      submission: "diff --git a/x b/x",
      model_stats: {
        instance_cost: 0.75,
        tokens_sent: 4_321,
        tokens_received: 87,
        api_calls: 2,
      },
    },
    ...fields,
  });
}

/** A folder that is removed after the test. */
export class Folder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async create(): Promise<Folder> {
    return new Folder(await Deno.makeTempDir({ prefix: "runledger-tools-" }));
  }

  /** Writes a file with this date; returns its path. */
  async write(name: string, text: string, date: Date): Promise<string> {
    const path = `${this.path}/${name}`;
    await Deno.writeTextFile(path, text);
    await Deno.utime(path, date, date);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** Runs `deno task …` in a separate process, as a user does. */
export function runTask(...args: string[]) {
  return runTaskWith({}, ...args);
}

/** Runs `deno task …` with additional settings. */
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
