/** Memory of the server in a long run at the top rate. */
import { type Figures, figuresOf } from "./calls.ts";
import { measure } from "./measure.ts";
import { usageOf } from "./process.ts";
import { say } from "./say.ts";
import { startSide } from "./sides.ts";
import { mean } from "./stats.ts";

const CONNECTIONS = 64;

/** What a long run came to. */
export interface MemoryResult {
  readonly figures: Figures;
  /** Megabytes, one each second; empty where the system does not tell. */
  readonly rssMb: readonly number[];
}

/** Measures opens for long and looks at the memory each second. */
export async function measureMemory(folder: string, seconds: number): Promise<MemoryResult> {
  say(`memory: ${seconds} s of opens …`);
  await using side = await startSide("ours", `${folder}/memory.kv`);
  await measure(side, { call: "open", connections: CONNECTIONS, seconds: 1 });
  const rssMb: number[] = [];
  const timer = setInterval(async () => {
    const usage = await usageOf(side.pid);
    if (usage !== null && rssMb.length < seconds) rssMb.push(usage.rssMb);
  }, 1000);
  try {
    const measured = await measure(side, { call: "open", connections: CONNECTIONS, seconds });
    return { figures: figuresOf([measured]), rssMb };
  } finally {
    clearInterval(timer);
  }
}

/** Memory once everything is warm, and how much more of it there is at the end. */
export interface MemoryGrowth {
  readonly at10s: number;
  readonly end: number;
  readonly max: number;
  /** The last ten seconds over the ten that follow the first ten. */
  readonly growth: number;
}

/** Sums up samples of one second each; null when there are too few. */
export function growthOf(rssMb: readonly number[]): MemoryGrowth | null {
  const [at10s, end] = [rssMb[9], rssMb.at(-1)];
  if (at10s === undefined || end === undefined) return null;
  const early = mean(rssMb.slice(9, 19));
  const late = mean(rssMb.slice(-10));
  return { at10s, end, max: Math.max(...rssMb), growth: late / early };
}
