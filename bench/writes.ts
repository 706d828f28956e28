/** Counts what the complete service writes for each run; counting slows it down. */
import { subtractCounts } from "../domain/core/sums.ts";
import { number, table } from "../tools/table.ts";
import { checkpointedBytes } from "./volume.ts";
import { call, CONNECTIONS, type Kind, KINDS, type Load, send } from "./load.ts";
import { startSide } from "./process.ts";
import { atMost, type Bar, type BenchOptions, print, say } from "./report.ts";
import { MUTATIONS_METRIC, OPERATOR } from "./service.ts";

/** Writes for each unit, with all work of the worker. */
export interface Writes {
  /** Sets, deletes and sums of successful commits. */
  readonly mutations: number;
  /** Growth of the file and its log after a checkpoint. */
  readonly bytes: number;
  /** Syncs to disk; NaN without strace. */
  readonly fsyncs: number;
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
    const { mutations, bytes, fsyncs } = await countWrites(`${folder}/${kind}.kv`, load);
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

/** Counts the writes of a load on a new file. */
export async function countWrites(file: string, load: Load): Promise<Writes> {
  // The first start creates the team.
  await (await startSide("workless", file))[Symbol.asyncDispose]();
  const emptyBytes = await checkpointedBytes(file);
  const trace = `${file}.fsyncs`;
  const { units, mutations, fsyncs } = await countLoad(file, load, trace).catch((error) => {
    say(`fsyncs: not counted: ${error instanceof Error ? error.message.trim() : error}`);
    return countLoad(file, load);
  });
  // The size is read after the service has ended.
  const bytes = await checkpointedBytes(file) - emptyBytes;
  return { mutations: mutations / units, bytes: bytes / units, fsyncs: fsyncs / units };
}

/** Counts what a load writes to a file or a shared KV. */
export async function countLoad(store: string, load: Load, trace?: string) {
  await using side = await startSide("counted", store, trace);
  const counts = async () => {
    const metrics = await call(side, "/metrics", undefined, OPERATOR);
    const mutations = Number(new RegExp(`^${MUTATIONS_METRIC} (\\d+)$`, "m").exec(metrics)?.[1]);
    const fsyncs = trace === undefined ? NaN : countSyncs(await Deno.readTextFile(trace));
    return { mutations, fsyncs };
  };
  const before = await counts();
  const { units } = await send([side], load);
  return { units, ...subtractCounts(await counts(), before) };
}

/** Counts the syncs in a trace; an interrupted call has two lines. */
function countSyncs(trace: string): number {
  return trace.match(/\bf(?:data)?sync\(/g)?.length ?? 0;
}
