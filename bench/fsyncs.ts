/**
 * Syncs to disk for each request, counted by strace in runs of their own: stopping a server at each
 * sync slows it down, which no timed measurement should suffer.
 */
import { isInstalled } from "./children.ts";
import { type Call, measure } from "./measure.ts";
import { say } from "./say.ts";
import { startSide } from "./sides.ts";

/** A call with a number of connections. */
export interface Cell {
  readonly call: Call;
  readonly connections: number;
}

/** Counts, by {@link cellName}; null when they cannot be counted here. */
export type Fsyncs = ReadonlyMap<string, number> | null;

const SECONDS = 1;

/** Names a cell. */
export function cellName({ call, connections }: Cell): string {
  return `${call} ${connections}`;
}

/** Counts the syncs of each cell on a server of its own. */
export async function countFsyncs(cells: readonly Cell[], folder: string): Promise<Fsyncs> {
  if (Deno.build.os !== "linux" || !await isInstalled("strace", "-V")) {
    say("fsyncs: not counted, because strace is not there");
    return null;
  }
  const traceTo = `${folder}/fsyncs.txt`;
  try {
    await using side = await startSide("workless", `${folder}/traced.kv`, { traceTo });
    const found = new Map<string, number>();
    for (const cell of cells) {
      say(`fsyncs: ${cell.call}, ${cell.connections} connections …`);
      // The first run warms up, so that the second does nothing but what is counted.
      await measure(side, { ...cell, seconds: SECONDS });
      const before = countSyncs(await Deno.readTextFile(traceTo));
      const { answered } = await measure(side, { ...cell, seconds: SECONDS });
      const after = countSyncs(await Deno.readTextFile(traceTo));
      if (answered > 0) found.set(cellName(cell), (after - before) / answered);
    }
    return found;
  } catch (error) {
    // A container may forbid tracing; everything else can still be measured.
    say(`fsyncs: not counted: ${error instanceof Error ? error.message.trim() : error}`);
    return null;
  }
}

/** Counts the syncs that strace wrote down; a call that was interrupted stands on two lines. */
export function countSyncs(trace: string): number {
  return trace.match(/\bf(?:data)?sync\(/g)?.length ?? 0;
}
