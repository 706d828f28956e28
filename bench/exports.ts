/**
 * Exports of many runs: how fast they come, and what memory the server takes meanwhile.
 *
 * Usage: exports.ts [RUNS]; 100,000 when none are named. Linux tells about memory, others do not.
 */
import { endAll, runScript } from "./children.ts";
import { openBeside } from "../kv/open.ts";
import { readBacklog } from "../kv/runs/backlog.ts";
import { usageOf } from "./process.ts";
import { print, say } from "./say.ts";
import { startSide } from "./sides.ts";
import { number, table } from "./table.ts";
import { keyOf } from "./teams.ts";

const RUNS_DEFAULT = 100_000;

/** Milliseconds between two looks at what waits for the worker. */
const LOOK_MS = 1_000;

/** Milliseconds between two looks at the memory. */
const SAMPLE_MS = 100;

/** What an export came to. */
interface Exported {
  readonly lines: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly rssMb: readonly number[];
}

/** Takes an export as fast as it comes, and keeps nothing of it. */
async function take(url: string, pid: number): Promise<Exported> {
  const rssMb: number[] = [];
  const sample = async () => void rssMb.push((await usageOf(pid))?.rssMb ?? NaN);
  await sample();
  const timer = setInterval(sample, SAMPLE_MS);
  const startMs = performance.now();
  const response = await fetch(url, { headers: { Authorization: `Bearer ${keyOf(1)}` } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let [lines, bytes] = [0, 0];
  for await (const part of response.body ?? []) {
    bytes += part.length;
    for (const byte of part) if (byte === 10) lines++;
  }
  const seconds = (performance.now() - startMs) / 1_000;
  clearInterval(timer);
  await sample();
  return { lines, bytes, seconds, rssMb };
}

/** Waits until the worker has looked at every run that was stored. */
async function untilListed(file: string): Promise<void> {
  const store = await openBeside(file);
  try {
    while ((await readBacklog(store, 1)).runs.closed.count > 0) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    await store.close();
  }
}

async function main(runs: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
  try {
    say(`exports: storing ${runs} runs …`);
    await runScript<number>("./fill.ts", `${folder}/exports.kv`, "0", String(runs));
    await using side = await startSide("ours", `${folder}/exports.kv`);
    say("exports: waiting for the worker …");
    await untilListed(`${folder}/exports.kv`);
    const rows: string[][] = [];
    for (const [round, form] of ["ndjson", "csv", "ndjson", "csv"].entries()) {
      say(`exports: ${form}, round ${round + 1} …`);
      const { lines, bytes, seconds, rssMb } = await take(`${side.url}/v1/runs.${form}`, side.pid);
      rows.push([
        form,
        // One line is the head of the table, or says that it is the end.
        number(lines - 1),
        number(bytes / 1e6, 1),
        number(seconds, 1),
        number((lines - 1) / seconds),
        ...[rssMb[0], Math.max(...rssMb), rssMb.at(-1)].map((mb) => number(mb ?? null)),
      ]);
    }
    const head = ["form", "runs", "MB", "s", "runs/s", "RSS before, MB", "highest", "after"];
    print(table(head, rows));
  } finally {
    await endAll();
    await Deno.remove(folder, { recursive: true });
  }
}

await main(Number(Deno.args[0] ?? RUNS_DEFAULT));
