/**
 * Stops or removes the log's reader, or fills its disk: the service still responds, and stops in
 * time.
 */
import { assert, assertEquals } from "@std/assert";
import { DRAIN_MS_MAX } from "../../../domain/core/limits.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { Process } from "../../support/harness/process.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";
import { openSmallDisk, run } from "../../support/harness/small_disk.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { KEY, number, settingsIn } from "./fault.ts";

/** Calls whose log lines fill a pipe several times. */
const CALLS = 1_500;

/** Calls in parallel. */
const CLIENTS = 50;

/** A log destination whose reader does not read. Always `await using`. */
interface BadLog extends AsyncDisposable {
  readonly path: string;
  /** Breaks the destination after the service has started. */
  begin(): Promise<void>;
  /** True if lines are certain to be lost. */
  readonly loses: boolean;
}

/** Ways to break a log. */
export const LOGS = {
  "its reader has exited": (folder: string) => pipeIn(folder, true),
  "its reader stops": (folder: string) => pipeIn(folder, false),
  "its disk is full": () =>
    Promise.resolve({
      path: "/dev/full",
      loses: true,
      begin: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
} as const satisfies Record<string, (folder: string) => Promise<BadLog>>;

/** Creates a named pipe whose reader exits, or stays and does not read. */
async function pipeIn(folder: string, readerGoes: boolean): Promise<BadLog> {
  const path = `${folder}/log`;
  await run("mkfifo", path);
  // Opening a pipe waits for the other end.
  const opening = Deno.open(path);
  return {
    path,
    loses: readerGoes,
    begin: async () => {
      const reader = await opening;
      if (readerGoes) reader.close();
    },
    [Symbol.asyncDispose]: async () => {
      if (!readerGoes) (await opening).close();
    },
  };
}

/** Starts a service that writes its log to such a destination. */
export async function logBroken(open: (folder: string) => Promise<BadLog>): Promise<string> {
  return await withFolder(async (folder) => {
    await using log = await open(folder);
    await using process = await startLogging(folder, log.path);
    await log.begin();
    await call(process.url);
    // Calls after the lines that fill the pipe must also get responses.
    await call(process.url);
    const dropped = await droppedBy(process.url);
    if (log.loses) assert(dropped > 0, "no line is counted as dropped");
    const { code, ms, stderr } = await process.stop();
    assertEquals([code, stderr.includes("Unhandled")], [0, false], stderr);
    assert(ms < DRAIN_MS_MAX / 2, `it took ${ms} ms to stop`);
    return `${number(2 * CALLS)} calls answered, ${number(dropped)} lines dropped, ended with 0 ` +
      `in ${Math.round(ms)} ms`;
  });
}

/** Fills the disk of a log and frees it: logging resumes, and reports the dropped lines. */
export async function logDiskFull(): Promise<string> {
  return await withFolder(async (folder) => {
    await using disk = await openSmallDisk("tmpfs");
    const path = `${disk.folder}/log`;
    await using process = await startLogging(folder, path);
    await call(process.url);
    await disk.fill(process.pid);
    await call(process.url);
    const dropped = await droppedBy(process.url);
    assert(dropped > 0, "no line is counted as dropped");
    await disk.free(process.pid);
    await call(process.url);
    assertEquals((await process.stop()).code, 0);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    const complete = lines.map(parsed).filter((line) => line !== null);
    // The full disk may truncate one line, and an empty line precedes the next output.
    assert(complete.length >= lines.length - 2, "more than one line is broken");
    const reported = complete.reduce((sum, line) => sum + (line.log_lines_dropped ?? 0), 0);
    const requests = complete.filter(({ route }) => route !== undefined).length;
    assert(requests + reported >= 3 * CALLS, "lines are lost and not counted");
    return `${number(requests)} lines written, ${number(reported)} reported as dropped`;
  });
}

function parsed(line: string): { log_lines_dropped?: number; route?: string } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function startLogging(folder: string, path: string): Promise<Process> {
  const settings = settingsIn(folder, { RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY });
  return Process.startBy(["sh", "-c", `exec "$0" "$@" > '${path}'`], settings);
}

/** Sends calls; fails unless each gets a response. */
async function call(url: string): Promise<void> {
  const headers = { Authorization: `Bearer ${KEY}` };
  let remaining = CALLS;
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    using client = Deno.createHttpClient({});
    while (remaining-- > 0) {
      const signal = AbortSignal.timeout(10_000);
      const answer = await fetch(`${url}/v1/usage`, { client, headers, signal });
      await answer.body?.cancel();
      assertEquals(answer.status, 200);
    }
  }));
}

async function droppedBy(url: string): Promise<number> {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
  const answer = await fetch(`${url}/metrics`, { headers });
  return new Scrape(await answer.text()).value("runledger_log_lines_dropped_total") ?? -1;
}
