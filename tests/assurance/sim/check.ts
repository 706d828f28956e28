/** Comparison of a world with the model: a response, the complete store, and what reads show. */
import { isDeepStrictEqual as equal } from "node:util";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { storedState } from "./dump.ts";
import { checkMonitors } from "./monitor_reads.ts";
import { countOutcomes } from "./monitor_state.ts";
import { agentsOf, monthsOf, recordOf, spendOf } from "./reads.ts";
import { type Answer, asClosed, type Fields, type Request, type Run, type State } from "./shape.ts";
import type { WireAnswer } from "./wire.ts";
import type { World } from "./world.ts";

/** Range of days that contains every run of a sequence. */
const DAYS = "from=2026-09-01&to=2027-09-01";

/**
 * Compares a response with the model's.
 *
 * @param alternatives responses that are allowed too, for a resent call that may have been stored before
 */
export function checkAnswer(
  request: Request,
  response: WireAnswer,
  expected: Answer,
  alternatives: readonly Answer[] = [],
): void {
  const { id: _, guard: __, ...actual } = response;
  // The JSON form of a ping has a cost only if the ping contained cost data.
  const isShort = request.call === "ping" && actual.body.cost_usd === undefined;
  const wanted = [expected, ...alternatives].map((answer) => {
    const { cost_usd: _, ...body } = answer.body;
    return isShort ? { ...answer, body } : answer;
  });
  if (!wanted.some((answer) => equal(actual, answer))) assertEquals<unknown>(actual, wanted[0]);
}

/** Checks a generated id: its region, a UUIDv7 of this instant, never used before. */
export function checkMinted(id: string | null, state: State, nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, "0");
  assertMatch(id ?? "", new RegExp(`^run_eu_${time}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`));
  assert(id !== null && state.runs[id] === undefined);
  return id;
}

/**
 * Compares everything once the worker is idle: the store key by key, derived values with their
 * sources, and reads. Returns the state with all outcomes counted.
 *
 * @param revisions expected number of final costs per run; null if faults determine it
 * @param alternatives families of keys that are allowed too
 */
export async function checkAll(
  world: World,
  state: State,
  revisions: Revisions | null,
  alternatives: readonly string[] = [],
): Promise<State> {
  await world.doWork();
  const { monitors: _, pings: __, ...rows } = state;
  assertEquals(plain(await storedState(world, alternatives)), plain(rows), "the store");
  const audit = await verifyStore(world.store, { team: world.team.id, pauseMs: 0 });
  assertEquals(audit.differences, []);
  assertEquals(audit.teams.map((team) => team.state), ["exact"]);
  for (const [id, run] of Object.entries(state.runs)) {
    const { revision, ...record } = await readRun(world, id);
    assertEquals<unknown>(record, plain(recordOf(id, run)), id);
    if (revisions !== null) assertEquals(revision, revisions.of(id, run), `revision of ${id}`);
  }
  for (const groupBy of ["agent", "status", "customer"] as const) {
    const { totals, groups } = await read(world, `/v1/spend?${DAYS}&group_by=${groupBy}`);
    assertEquals<unknown>({ totals, groups }, plain(spendOf(state, groupBy)), groupBy);
  }
  const { agents } = await read(world, "/v1/agents");
  assertEquals<unknown>(agents, agentsOf(state), "agents");
  const { months } = await read(world, "/v1/usage");
  assertEquals<unknown>(months, monthsOf(state), "usage");
  const counted = countOutcomes(state);
  await checkMonitors(counted, await world.absences(), (path) => read(world, path));
  return counted;
}

/**
 * Expected revision of each run: once more per observed change of its cost while it is closed, and
 * for each observed close and reopening.
 */
export class Revisions {
  readonly #seen = new Map<string, { readonly state: string; readonly revision: number }>();

  see({ runs }: State): void {
    for (const [id, run] of Object.entries(runs)) this.of(id, run);
  }

  of(id: string, run: Run): number {
    const { opening, closing, events } = asClosed(run);
    // A late opening changes the cost only of a heartbeat, which reports one.
    const state = closing === undefined
      ? "open"
      : `${closing.closed_by} ${events.length} ${opening?.kind === "heartbeat"}`;
    const previous = this.#seen.get(id) ?? { state: "open", revision: 0 };
    const revision = previous.revision + (previous.state === state ? 0 : 1);
    this.#seen.set(id, { state, revision });
    return revision;
  }
}

// deno-lint-ignore no-explicit-any -- reads responses of any shape
async function read(world: World, path: string): Promise<any> {
  const response = await world.send("GET", path);
  assertEquals(response.status, 200, `${path}: ${response.text}`);
  return JSON.parse(response.text);
}

/**
 * Reads a run in the form of {@link recordOf}. Its incidents and the stage that found them are
 * compared with the model of alerts.
 */
async function readRun(world: World, id: string): Promise<Fields & { revision: number }> {
  const { clock_skew_ms: _, ...record } = await read(world, `/v1/runs/${id}?events_limit=1000`);
  const { revision, ...cost } = record.cost;
  return {
    ...record,
    cost,
    revision,
    incidents: [],
    events: record.events.map(({ priced_by, ...event }: Fields) =>
      priced_by === undefined ? event : { ...event, is_priced: priced_by !== null }
    ),
    processing: record.processing.map(({ stage, state }: Fields) =>
      `${stage} ${stage === "alerts" && state === "done" ? "skipped" : state}`
    ),
  };
}

/** Removes undefined fields, which equal absent ones. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (_, part) => part === Infinity ? "Infinity" : part));
}
