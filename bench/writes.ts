/** Counts what the complete service writes for each run; counting slows it down. */
import { number, table } from "../tools/table.ts";
import { subtractCounts } from "../domain/core/sums.ts";
import { readProgress, untilDrained } from "./backlog.ts";
import { checkpointedBytes } from "./fill.ts";
import { CONNECTIONS, type Kind, KINDS, type Load, wrk } from "./load.ts";
import { atMost, type Bar, type BenchOptions, print, say } from "./report.ts";
import { MUTATIONS_METRIC, OPERATOR_KEY } from "./service.ts";
import { type Side, startSide } from "./sides.ts";

/** Writes for each unit, with all work of the worker. */
export interface Writes {
  /** Sets, deletes and sums of successful commits. */
  readonly mutations: number;
  /** Growth of the file and its log after a checkpoint. */
  readonly bytes: number;
  /** Syncs to disk; null without strace. */
  readonly fsyncs: number | null;
}

/** Maximum mutations and bytes of a unit. */
const BARS: Readonly<Partial<Record<Kind, Pick<Writes, "mutations" | "bytes">>>> = {
  run: { mutations: 9, bytes: 3_500 },
  heartbeat: { mutations: 6, bytes: 1_500 },
};

/** Counts the writes of each kind, each on a new file. */
export async function bench({ folder, seconds = 6 }: BenchOptions): Promise<Bar[]> {
  const rows: string[][] = [];
  const bars: Bar[] = [];
  for (const kind of KINDS) {
    say(`writes: ${kind} …`);
    const load: Load = { call: kind, connections: CONNECTIONS, seconds };
    const { mutations, bytes, fsyncs } = await countWrites(`${folder}/${kind}`, load);
    rows.push([kind, number(mutations, 2), number(bytes), number(fsyncs, 3)]);
    const most = BARS[kind];
    if (most === undefined) continue;
    bars.push(
      atMost(`${kind}: mutations each`, most.mutations, mutations),
      atMost(`${kind}: bytes of file each`, most.bytes, bytes),
    );
  }
  print(table(["unit", "mutations", "bytes", "fsyncs"], rows));
  return bars;
}

/** Counts the writes of a load on the new file `path` + ".kv". */
export async function countWrites(path: string, load: Load): Promise<Writes> {
  const file = `${path}.kv`, trace = `${path}.fsyncs`;
  const emptyBytes = await newFileBytes(file);
  await using side = await startCounted(file, trace);
  const syncs = await syncsIn(trace);
  const { units, mutations } = await countLoad(side, load);
  const fsyncs = syncs === null ? null : (await syncsIn(trace) ?? NaN) - syncs;
  // The size is read after the service has ended.
  await side[Symbol.asyncDispose]();
  return {
    mutations: mutations / units,
    bytes: (await checkpointedBytes(file) - emptyBytes) / units,
    fsyncs: fsyncs === null ? null : fsyncs / units,
  };
}

/** Counts the mutations of each unit on a shared KV. */
export async function countMutations(store: string, load: Load): Promise<number> {
  await using side = await startSide("counted", store);
  const { units, mutations } = await countLoad(side, load);
  return mutations / units;
}

async function countLoad(side: Side, load: Load) {
  const [start, mutations] = [await readProgress(side), await mutationsOf(side)];
  await wrk(side.url, load);
  await untilDrained(side, start);
  const { finished } = subtractCounts((await readProgress(side)).accepted, start.accepted);
  return { units: finished, mutations: await mutationsOf(side) - mutations };
}

/** Starts the server under strace, or alone where tracing is not possible. */
async function startCounted(file: string, traceTo: string): Promise<Side> {
  try {
    return await startSide("counted", file, { traceTo });
  } catch (error) {
    say(`fsyncs: not counted: ${error instanceof Error ? error.message.trim() : error}`);
    return await startSide("counted", file);
  }
}

async function mutationsOf({ url }: Side): Promise<number> {
  const response = await fetch(`${url}/metrics`, {
    headers: { Authorization: `Bearer ${OPERATOR_KEY}` },
  });
  const text = await response.text();
  const count = new RegExp(`^${MUTATIONS_METRIC} (\\d+)$`, "m").exec(text)?.[1];
  if (count === undefined) throw new Error(`/metrics has no ${MUTATIONS_METRIC}: ${text}`);
  return Number(count);
}

async function syncsIn(trace: string): Promise<number | null> {
  const text = await Deno.readTextFile(trace).catch(() => null);
  return text === null ? null : countSyncs(text);
}

/** Counts the syncs in a trace; an interrupted call has two lines. */
export function countSyncs(trace: string): number {
  return trace.match(/\bf(?:data)?sync\(/g)?.length ?? 0;
}

/** Creates a ledger with its first team and returns its size. */
async function newFileBytes(file: string): Promise<number> {
  await (await startSide("ours", file))[Symbol.asyncDispose]();
  return await checkpointedBytes(file);
}
