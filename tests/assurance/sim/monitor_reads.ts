/** Reads of monitors, expected and actual. */
import { assert, assertEquals } from "@std/assert";
import { downAfter, failing } from "./monitors.ts";
import { type Absence, asClosed, type Fields, instant, type Monitor, type State } from "./shape.ts";

const orNull = (ms: number | null) => ms === null ? null : instant(ms);

/** Returns the monitor of an agent as in responses, without fields that any response has. */
function monitorOf(state: State, agent: string): Fields {
  const monitor = state.monitors.of[agent] as Monitor;
  const { pause, settings } = monitor;
  const runs = Object.values(state.runs).map(asClosed);
  const open = runs.filter(({ opening, closing }) => opening?.agent === agent && !closing);
  return {
    ...{ agent, version: monitor.version, ...settings },
    ...{ state: monitor.state, since: instant(monitor.since), failing: failing(monitor) },
    pause: pause && { until: orNull(pause.until), sticky: pause.sticky },
    running: open.length,
    last_arrival_at: orNull(monitor.last_arrival_at),
    last_ok_at: orNull(monitor.last_ok_at),
    expected_at: orNull(monitor.expected_at),
    down_after: orNull(downAfter(monitor)),
  };
}

/** Returns a monitor of a response in the form of {@link monitorOf}. */
function seenMonitor(json: Fields): Fields {
  const { id: _, words: __, max_runtime_seconds: ___, ...others } = json;
  const { created_at: _4, updated_at: _5, updated_by: _6, ...fields } = others;
  return fields;
}

/**
 * Compares a monitor of a response with the model's. An absence postpones a deadline when the
 * deadline is looked at, so the end of the grace may still be without the latest ones; the flips show
 * the rest.
 */
export function checkMonitor(json: Fields, state: State, agent: string): void {
  // The model of budgets has what blocks an agent.
  const [{ down_after: seen, blocked_by: _, ...fields }, { down_after, ...wanted }] = [
    seenMonitor(json),
    monitorOf(state, agent),
  ];
  assertEquals(fields, wanted, `monitor of ${agent}`);
  const { expected_at, settings } = state.monitors.of[agent] as Monitor;
  if (expected_at === null) return assertEquals(seen, down_after, `down_after of ${agent}`);
  const bare = instant(expected_at + settings.grace_seconds * 1_000);
  const isBetween = bare <= String(seen) && String(seen) <= String(down_after);
  assert(isBetween, `down_after of ${agent}: ${seen}, not from ${bare} to ${down_after}`);
}

export async function checkMonitors(
  state: State,
  absences: readonly Absence[],
  // deno-lint-ignore no-explicit-any -- reads responses of any shape
  read: (path: string) => Promise<any>,
): Promise<void> {
  const { monitors } = await read("/v1/monitors?limit=500");
  const agents = Object.keys(state.monitors.of).sort();
  assertEquals(monitors.map(({ agent }: Fields) => agent), agents, "monitors");
  for (const json of monitors) checkMonitor(json, state, json.agent);
  for (const agent of agents) {
    const { flips } = await read(`/v1/agents/${encodeURIComponent(agent)}/flips?limit=500`);
    const seen: Fields[] = flips.toReversed();
    const expected = state.monitors.of[agent]?.flips ?? [];
    assertEquals(
      seen.filter(({ to }) => to !== "unknown").map(({ until: _, ...flip }) => flip),
      expected.map((flip) => ({ ...flip, at: instant(flip.at) })),
      `flips of ${agent}`,
    );
    const ends = seen.filter(({ to }) => to === "unknown").map(({ until }) => String(until));
    assertEquals(ends.length, new Set(ends).size, "each absence is one flip");
    const known = absences.map(({ untilMs }) => instant(untilMs));
    assert(ends.every((end) => known.includes(end)), `${ends} are absences, of ${known}`);
  }
}
