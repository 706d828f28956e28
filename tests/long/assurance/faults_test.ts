/**
 * Tests a store that fails at any one commit: acknowledged writes exist, and nothing exists twice.
 */
import { assert, assertEquals } from "@std/assert";
import { checkAll, checkAnswer } from "../../assurance/sim/check.ts";
import { hurriedTimers, KINDS, OneFault, openFaulty } from "../../assurance/sim/faults.ts";
import { step } from "../../assurance/sim/model.ts";
import { begin } from "../../assurance/sim/play.ts";
import type { Answer, Fields, Request, State } from "../../assurance/sim/shape.ts";
import { send } from "../../assurance/sim/wire.ts";
import { type Step, WORKLOAD } from "../../assurance/sim/workload.ts";
import type { World } from "../../assurance/sim/world.ts";

/** Milliseconds of the server's clock between two steps. */
const STEP_MS = 1_000;

const REPRICE = "/v1/rate-card/reprice";

/**
 * Plays the workload and resends every unacknowledged call, after a restart if wanted. At the end
 * the store must equal the model's. Returns the results of the first job of each kind.
 */
async function playWorkload(plan: OneFault, restarts: boolean): Promise<string[]> {
  await using world = await openFaulty(plan, { tier: "team" });
  plan.start();
  let { state } = begin("team");
  for (const current of WORKLOAD) {
    world.nowMs += STEP_MS;
    state = typeof current === "string"
      ? await other(world, state, current)
      : await deliver(world, state, current, restarts);
  }
  await checkAll(world, state, null, ["reprice"]);
  const { jobs } = JSON.parse((await world.send("GET", REPRICE)).text);
  return [true, false].map((isDry) =>
    resultsOf(jobs.findLast(({ dry_run }: Fields) => dry_run === isDry))
  );
}

/** A job that is resent after it finished starts again; the first one has the original numbers. */
function resultsOf(job: Fields): string {
  const { state, runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd } = job;
  return JSON.stringify([state, runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd]);
}

async function other(
  world: World,
  state: State,
  what: Exclude<Step, readonly Request[]>,
): Promise<State> {
  switch (what) {
    case "aggregate":
      await world.doWork();
      break;
    case "double rates":
      await world.putRates(2);
      break;
    case "rates":
      await world.putRates();
      break;
    case "dry run":
    case "reprice": {
      const body = JSON.stringify({ model: "atlas", dry_run: what === "dry run" });
      while ((await world.send("POST", REPRICE, body)).status === 503);
      break;
    }
    default:
      what satisfies never;
  }
  return state;
}

/**
 * Sends calls in parallel, resends them until all are acknowledged, and returns the model's state.
 */
async function deliver(
  world: World,
  before: State,
  calls: readonly Request[],
  restarts: boolean,
): Promise<State> {
  const now = world.nowMs;
  const expected = new Map<Request, readonly [first: Answer, again: Answer]>();
  let state = before;
  for (const request of calls) {
    const [next, first] = step(state, request, now);
    expected.set(request, [first, step(next, request, now)[1]]);
    state = next;
  }
  let waiting = [...calls];
  for (let attempt = 1; waiting.length > 0; attempt++) {
    assert(attempt < 5, "never acknowledged");
    if (attempt > 1 && restarts) await world.restart();
    const answers = await Promise.all(waiting.map((request) => send(world, request)));
    for (const [i, answer] of answers.entries()) {
      const request = waiting[i];
      if (answer === null || request === undefined) continue;
      const [first, again] = expected.get(request) ?? raise();
      // A resent call may have been stored before, and so may calls sent with it.
      const alternatives = attempt === 1 ? [] : [again, step(state, request, now)[1]];
      checkAnswer(request, answer, first, alternatives);
    }
    waiting = waiting.filter((_, i) => answers[i] === null);
  }
  return state;
}

function raise(): never {
  throw new TypeError("A call that was not sent");
}

Deno.test("faults: after a failure at any commit, retries lead to the model's store", async (t) => {
  using _ = hurriedTimers();
  const counted = new OneFault("none", 0);
  const results = await playWorkload(counted, false);
  // Two calls of 624.6 millionths of a dollar, one of 2,498.4, one of 42; then half of that.
  const halved = '["done",4,4,4,0.0037896,0.0018948]';
  assertEquals(results, [halved, halved]);
  assert(counted.commits > 30, `only ${counted.commits} commits`);
  for (const kind of KINDS) {
    await t.step(`${kind}, at each of ${counted.commits} commits`, async () => {
      for (let at = 0; at < counted.commits; at++) {
        const plan = new OneFault(kind, at);
        // Every second time the process ends before the client retries.
        const actual = await playWorkload(plan, at % 2 === 1).catch((error) => {
          throw new Error(`${kind} at commit ${at}`, { cause: error });
        });
        assertEquals(actual, results, `${kind} at commit ${at}`);
        // Concurrent first calls of agents share a commit or not, so the last few may be missing.
        if (plan.commits <= at) {
          assert(at >= counted.commits - 4, `no commit ${at}`);
          break;
        }
      }
    });
  }
});
