/** Child processes of the benchmark: however it ends, none of them outlives it. */

const live = new Set<Deno.ChildProcess>();

/** Memory grows as little under load as it does in `deno task start`. */
const V8_FLAGS = "--v8-flags=--heap-growing-percent=60";

/** Arguments that run a script of this folder. */
export function scriptArguments(file: string, ...args: string[]): string[] {
  return ["run", "--frozen", V8_FLAGS, "-A", new URL(file, import.meta.url).pathname, ...args];
}

/** Starts a process. */
export function spawn(command: string, args: string[], stdout: "null" | "piped") {
  const child = new Deno.Command(command, { args, stdin: "null", stdout, stderr: "piped" }).spawn();
  live.add(child);
  child.status.finally(() => live.delete(child));
  return child;
}

/** Runs a process to its end; fails with what it said on stderr. */
export async function run(command: string, ...args: string[]): Promise<Deno.CommandOutput> {
  const output = await spawn(command, args, "piped").output();
  if (output.success) return output;
  throw new Error(`${command} failed: ${new TextDecoder().decode(output.stderr).trim()}`);
}

/** Runs a script of this folder, which prints one line of JSON. */
export async function runScript<Result>(file: string, ...args: string[]): Promise<Result> {
  const { stdout } = await run(Deno.execPath(), ...scriptArguments(file, ...args));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Whether a program can be started. */
export async function isInstalled(program: string, versionFlag: string): Promise<boolean> {
  try {
    // Its exit code says nothing: wrk leaves with 1 after printing its version.
    await new Deno.Command(program, { args: [versionFlag], stdout: "null", stderr: "null" })
      .output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Ends a process and waits until it is gone. */
export async function end(child: Deno.ChildProcess): Promise<void> {
  if (live.has(child)) child.kill("SIGKILL");
  await child.status;
}

/** Ends all processes, however far they are. */
export async function endAll(): Promise<void> {
  await Promise.all([...live].map(end));
}
