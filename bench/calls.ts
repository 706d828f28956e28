/** Every call on every side, in turn, round by round. */
import { type Call, CALLS, measure, type Measured } from "./measure.ts";
import { say } from "./say.ts";
import { type Side, type SideKind, startSide } from "./sides.ts";
import { median, medianOf, ratios, rotate, spread } from "./stats.ts";

/** What one call came to over all rounds. */
export interface CallResult {
  readonly call: Call;
  readonly connections: number;
  readonly figures: Figures;
  /** Ours over one commit each, round by round. */
  readonly overCommit: readonly number[];
  /** Ours over storing nothing, round by round. */
  readonly overNothing: readonly number[];
  /** Failures of the sides we are measured against. */
  readonly baselineFailures: number;
}

/** Medians of some measurements of one thing. */
export interface Figures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly spread: number;
  readonly cpuUs: number | null;
  readonly rssMb: number | null;
  /** All of them, not their median. */
  readonly failures: number;
}

/** What stands for "one commit each" by call. */
const ONE_COMMIT: Record<Call, SideKind> = {
  open: "alone",
  events: "checked",
  finish: "queued",
  heartbeat: "alone",
  ping: "alone",
};

/** Without the worker, whose effect is measured apart: see `pipeline.ts`. */
const OURS: SideKind = "workless";

const KINDS: readonly SideKind[] = [OURS, "alone", "queued", "checked", "nothing"];

/** Measures all calls. */
export async function measureCalls(
  folder: string,
  connections: readonly number[],
  rounds: number,
  seconds: number,
): Promise<CallResult[]> {
  say("calls: starting the servers …");
  await using stack = new AsyncDisposableStack();
  const sides = await Promise.all(
    KINDS.map(async (kind) => stack.use(await startSide(kind, `${folder}/${kind}.kv`))),
  );
  const cells = connections.flatMap((n) => CALLS.map((call) => ({ call, connections: n })));
  const found = cells.map((cell) => ({ ...cell, rounds: [] as Round[] }));
  for (let round = 0; round < rounds; round++) {
    for (const cell of found) {
      say(`calls: round ${round + 1}/${rounds}, ${cell.call}, ${cell.connections} connections …`);
      cell.rounds.push(await measureRound(sides, cell.call, cell.connections, seconds, round));
    }
  }
  return found.map(({ rounds, ...cell }) => ({ ...cell, ...summary(rounds) }));
}

/** One call on all its sides. */
interface Round {
  readonly ours: Measured;
  readonly commit: Measured;
  readonly nothing: Measured;
}

async function measureRound(
  sides: readonly Side[],
  call: Call,
  connections: number,
  seconds: number,
  round: number,
): Promise<Round> {
  const measured = new Map<SideKind, Measured>();
  for (const kind of rotate<SideKind>([OURS, ONE_COMMIT[call], "nothing"], round)) {
    const side = sides.find((each) => each.kind === kind);
    if (side !== undefined) measured.set(kind, await measure(side, { call, connections, seconds }));
  }
  const of = (kind: SideKind): Measured => {
    const found = measured.get(kind);
    if (found === undefined) throw new Error(`Nothing was measured on "${kind}"`);
    return found;
  };
  return { ours: of(OURS), commit: of(ONE_COMMIT[call]), nothing: of("nothing") };
}

function summary(rounds: readonly Round[]) {
  const rates = (side: keyof Round) => rounds.map((round) => round[side].requestsPerSecond);
  return {
    figures: figuresOf(rounds.map(({ ours }) => ours)),
    overCommit: ratios(rates("ours"), rates("commit")),
    overNothing: ratios(rates("ours"), rates("nothing")),
    baselineFailures: rounds.reduce(
      (n, round) => n + round.commit.failures + round.nothing.failures,
      0,
    ),
  };
}

/** The medians of what was measured several times. */
export function figuresOf(measured: readonly Measured[]): Figures {
  const rates = measured.map(({ requestsPerSecond }) => requestsPerSecond);
  return {
    requestsPerSecond: median(rates),
    p50Ms: median(measured.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(measured.map(({ p99Ms }) => p99Ms)),
    spread: spread(rates),
    cpuUs: medianOf(measured.map(({ cpuUs }) => cpuUs)),
    rssMb: medianOf(measured.map(({ rssMb }) => rssMb)),
    failures: measured.reduce((sum, { failures }) => sum + failures, 0),
  };
}
