/** What is measured without HTTP: the writer against raw SQLite, and one run that grows. */
import { runScript } from "./children.ts";
import { say } from "./say.ts";
import { median, ratios, spread } from "./stats.ts";

/** Callers of the writer, as many as there are connections in the other measurements. */
const CALLERS = [64, 256] as const;

/** What the writer came to. */
export interface WriterResult {
  readonly callers: number;
  readonly writesPerSecond: number;
  readonly spread: number;
  /** Over raw SQLite in the same round. */
  readonly overRaw: readonly number[];
}

/** What the comparison with raw SQLite came to. */
export interface WriterResults {
  readonly writers: readonly WriterResult[];
  readonly rawPerSecond: number;
  readonly rawSpread: number;
}

/** Measures the writer and raw SQLite in turn, each time on a new file. */
export async function measureWriter(
  folder: string,
  rounds: number,
  seconds: number,
): Promise<WriterResults> {
  const raw: number[] = [];
  const ours = CALLERS.map((callers) => ({ callers, rates: [] as number[] }));
  for (let round = 1; round <= rounds; round++) {
    say(`writer: round ${round}/${rounds}, raw SQLite, ${CALLERS.join(" and ")} callers …`);
    const file = (name: string) => `${folder}/${name}-${round}.kv`;
    raw.push(await runScript("./raw_sqlite.ts", file("raw"), String(seconds)));
    for (const { callers, rates } of ours) {
      const args = [file(`writer-${callers}`), String(callers), String(seconds)];
      rates.push(await runScript("./writer.ts", ...args));
    }
  }
  const writers = ours.map(({ callers, rates }) => ({
    callers,
    writesPerSecond: median(rates),
    spread: spread(rates),
    overRaw: ratios(rates, raw),
  }));
  return { writers, rawPerSecond: median(raw), rawSpread: spread(raw) };
}

/** What one growing run came to. */
export interface GrowingResult {
  readonly batches: number;
  /** Batches a second over the first thousand and over the last. */
  readonly firstPerSecond: number;
  readonly lastPerSecond: number;
}

/** Measures one run that grows. */
export async function measureGrowing(folder: string, batches: number): Promise<GrowingResult> {
  say(`growing: one run, ${batches} batches of 10 events …`);
  const marks = await runScript<number[]>(
    "./growing_run.ts",
    `${folder}/growing.kv`,
    String(batches),
  );
  const perSecond = (ms: number | undefined) => 1_000 * 1000 / (ms ?? NaN);
  return { batches, firstPerSecond: perSecond(marks[0]), lastPerSecond: perSecond(marks.at(-1)) };
}
