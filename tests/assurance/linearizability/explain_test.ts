/** Tests the checker on random races: it must accept exactly the races that some order explains. */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../tools/random.ts";
import type { Call, Operation, Outcome } from "./calls.ts";
import { explain } from "./explain.ts";
import { ModelRun } from "./model.ts";
import { planGroup } from "./plan.ts";

const STARTS = ["2026-11-21T12:00:00.000Z", "2026-11-21T12:00:01.000Z"];
const UNKNOWN: Outcome = { kind: "unknown" };

/**
 * Simulates a race on a correct run: each call takes effect at an instant between begin and end.
 */
function soundHistory(random: Random, length: number): Operation[] {
  const model = new ModelRun();
  const planned = planGroup(random, 0, STARTS).filter(({ run }) => run === 0).slice(0, length);
  const attempts = planned.map(({ call }) => {
    const beginMs = random.int(0, 60 * length);
    const endMs = beginMs + random.int(1, 300);
    const inDoubt = random.chance(0.2);
    // A call in doubt may take effect long after its client has given up, or never.
    const atMs = inDoubt ? beginMs + random.int(0, 1_000) : random.int(beginMs, endMs);
    return { call, beginMs, endMs, inDoubt, atMs, happens: !inDoubt || random.chance(0.6) };
  });
  const history: Operation[] = [];
  for (const attempt of attempts.sort((a, b) => a.atMs - b.atMs)) {
    const { call, beginMs, endMs, inDoubt, happens } = attempt;
    const outcome = happens ? model.take(call) : UNKNOWN;
    history.push({ call, beginMs, endMs, outcome: inDoubt ? UNKNOWN : outcome });
  }
  const call: Call = { by: 99, flawed: false, kind: "read" };
  history.push({ call, beginMs: 9_000, endMs: 9_001, outcome: model.take(call) });
  return history;
}

Deno.test("histories: every race on a correct run is explained", () => {
  for (let seed = 0; seed < 1_000; seed++) {
    assertEquals(explain(soundHistory(new Random(`sound ${seed}`), 16)), null, `seed ${seed}`);
  }
});

/** Tries every order that the clock allows, with calls in doubt executed or not. */
function isPossible(remaining: readonly Operation[], done: readonly Call[] = []): boolean {
  if (remaining.every(({ outcome }) => outcome.kind === "unknown")) return true;
  return remaining.some((next) => {
    const otherOperations = remaining.filter((other) => other !== next);
    const tooEarly = otherOperations.some(({ endMs, outcome }) =>
      outcome.kind !== "unknown" && endMs < next.beginMs
    );
    if (tooEarly) return false;
    const model = new ModelRun();
    for (const call of done) model.take(call);
    const { call, outcome } = next;
    const expected = model.take(call);
    return (outcome.kind === "unknown" || textOf(expected) === textOf(outcome)) &&
      isPossible(otherOperations, [...done, call]);
  });
}

function textOf(outcome: Outcome): string {
  return JSON.stringify(outcome, (_, value) => value instanceof Map ? [...value].sort() : value);
}

Deno.test("histories: for any responses, the checker agrees with trying every order", () => {
  let refused = 0;
  const races = 2_000;
  for (let seed = 0; seed < races; seed++) {
    const random = new Random(`swapped ${seed}`);
    const history = soundHistory(random, 7);
    // Another call's response of the same kind, or this call's response at another time.
    const [one, two] = [random.int(0, 6), random.int(0, 6)];
    const [a, b] = [history[one] as Operation, history[two] as Operation];
    if (a.call.kind === b.call.kind && a.call !== b.call) {
      history[one] = { ...a, outcome: b.outcome };
      history[two] = { ...b, outcome: a.outcome };
    } else {
      const beginMs = random.int(0, 500);
      history[one] = { ...a, beginMs, endMs: beginMs + random.int(1, 50) };
    }
    const anomaly = explain(history);
    assertEquals(anomaly === null, isPossible(history), `seed ${seed}: ${anomaly?.why}`);
    if (anomaly !== null) refused++;
  }
  // Both verdicts must be frequent for the test to mean anything.
  assert(refused > races / 4 && refused < races * 3 / 4, `${refused} of ${races} were refused`);
});
