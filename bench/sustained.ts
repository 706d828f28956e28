/**
 * Measures the complete service: complete runs, heartbeats and pings with the worker, until the
 * backlog is empty, next to the service without the worker (the front door), and to another checkout.
 */
import { table } from "../tools/table.ts";
import {
  CONNECTIONS,
  inTurn,
  type Kind,
  KINDS,
  type Load,
  measure,
  type Measured,
} from "./load.ts";
import { type Side, startService, startSide } from "./process.ts";
import {
  atLeast,
  type Bar,
  type BenchOptions,
  cells,
  type Column,
  failures,
  medians,
  print,
  ratios,
} from "./report.ts";

/** Names of the servers: {@link BEFORE} is the other checkout. */
const COMPLETE = "complete", DOOR = "front door", BEFORE = "before";

/** Minimum ratios of the sustained rates of two servers, by unit. */
const BARS: Readonly<Record<Kind, readonly [ours: string, theirs: string, limit: number][]>> = {
  run: [[COMPLETE, DOOR, 0.9], [COMPLETE, BEFORE, 1.5]],
  heartbeat: [[COMPLETE, DOOR, 0.7], [COMPLETE, BEFORE, 2.5]],
  ping: [],
};

/** Measures each kind of unit on each server. */
export async function bench({ folder, quick, checkout, ...options }: BenchOptions): Promise<Bar[]> {
  const { rounds = quick ? 1 : 3, seconds = quick ? 2 : 6 } = options;
  await using stack = new AsyncDisposableStack();
  const servers: Record<string, Side> = {
    [COMPLETE]: stack.use(await startService(`${folder}/complete.kv`)),
    [DOOR]: stack.use(await startSide("workless", `${folder}/door.kv`)),
  };
  if (checkout !== undefined) {
    servers[BEFORE] = stack.use(await startService(`${folder}/before.kv`, checkout));
  }
  const rows: string[][] = [];
  const bars: Bar[] = [];
  for (const kind of KINDS) {
    const load: Load = { call: kind, connections: CONNECTIONS, seconds };
    const ways = Object.entries(servers)
      .map(([name, side]) => [name, () => measure([side], load)] as const);
    const results: Results = await inTurn(kind, rounds, Object.fromEntries(ways));
    rows.push(...rowsOf(kind, results));
    bars.push(...rateBars(kind, results));
  }
  print(table(["unit", "server", ...COLUMNS.map(([head]) => head)], rows));
  return bars;
}

/** Measurements by the name of the server. */
type Results = Readonly<Record<string, readonly Measured[]>>;

/** Units a second from the start of the load until the backlog is empty. */
const sustained = ({ units, drainedSeconds }: Measured) => units / drainedSeconds;

/** Columns of the measurements of a server. */
const COLUMNS: readonly Column<Measured>[] = [
  medians("sustained", sustained),
  medians("loaded", ({ units, loadedSeconds }) => units / loadedSeconds),
  medians("a core-second", ({ units, cpuSeconds }) => units / cpuSeconds),
  medians("p50 ms", ({ p50Ms }) => p50Ms, 1),
  medians("p99 ms", ({ p99Ms }) => p99Ms, 1),
  medians("RSS MB", ({ rssMb }) => rssMb),
  failures,
];

/** Builds a row for each server. */
function rowsOf(kind: Kind, results: Results): string[][] {
  return Object.entries(results).map(([server, all]) => [kind, server, ...cells(COLUMNS, all)]);
}

/** Compares the sustained rates of the servers, round by round. */
function rateBars(kind: Kind, results: Results): Bar[] {
  return BARS[kind].flatMap(([ours, theirs, limit]) => {
    const { [ours]: one = [], [theirs]: other } = results;
    if (other === undefined) return [];
    return [atLeast(`${kind}: ${ours} ÷ ${theirs}`, limit, ratios(one, other, sustained))];
  });
}
