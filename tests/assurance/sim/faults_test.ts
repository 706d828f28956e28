/** A store that fails at any one commit: what was acknowledged is there, and nothing is there twice. */
import { assert, assertEquals } from "@std/assert";
import { checkAll, checkAnswer } from "./check.ts";
import { hurriedTimers, KINDS, OneFault, openFaulty } from "./faults.ts";
import { step } from "./model.ts";
import { begin } from "./play.ts";
import type { Answer, Fields, Request, State } from "./shape.ts";
import { send } from "./wire.ts";
import { type Step, WORKLOAD } from "./workload.ts";
import type { World } from "./world.ts";

/** Milliseconds between two steps, by the server's clock. */
const STEP_MS = 1_000;

const REPRICE = "/v1/rate-card/reprice";

/**
 * Plays the workload: whatever was not acknowledged is sent again, after a restart where one is wanted,
 * until it is. In the end the store is the model's. Answers what the first job of each kind came to.
 */
async function playWorkload(plan: OneFault, restarts: boolean): Promise<string[]> {
  await using world = await openFaulty(plan, { tier: "team" });
  plan.start();
  let { state } = begin("team");
  for (const each of WORKLOAD) {
    world.nowMs += STEP_MS;
    state = typeof each === "string"
      ? await other(world, state, each)
      : await deliver(world, state, each, restarts);
  }
  await checkAll(world, state, null, ["reprice"]);
  const { jobs } = JSON.parse((await world.send("GET", REPRICE)).text);
  return [true, false].map((isDry) =>
    figuresOf(jobs.findLast(({ dry_run }: Fields) => dry_run === isDry))
  );
}

/** Sent again after it was done, a job is made anew: the first one tells what there was to change. */
function figuresOf(job: Fields): string {
  const { state, runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd } = job;
  return JSON.stringify([state, runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd]);
}

async function other(
  world: World,
  state: State,
  what: Exclude<Step, readonly Request[]>,
): Promise<State> {
  switch (what) {
    case "sum up":
      await world.settle();
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

/** Sends calls at once and again until all are acknowledged; answers the model's state after them. */
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
    const told = await Promise.all(waiting.map((request) => send(world, request)));
    for (const [i, answer] of told.entries()) {
      const request = waiting[i];
      if (answer === null || request === undefined) continue;
      const [first, again] = expected.get(request) ?? raise();
      // Sent again it may have been stored before, and what was sent beside it as well.
      const others = attempt === 1 ? [] : [again, step(state, request, now)[1]];
      checkAnswer(request, answer, first, others);
    }
    waiting = waiting.filter((_, i) => told[i] === null);
  }
  return state;
}

function raise(): never {
  throw new TypeError("A call that was not sent");
}

Deno.test("faults: at whichever commit the store fails, retries end in the model's store", async (t) => {
  using _ = hurriedTimers();
  const counted = new OneFault("none", 0);
  const figures = await playWorkload(counted, false);
  // Two calls of 624.6 millionths of a dollar, one of 2,498.4, one of 42; then half of that.
  const halved = '["done",4,4,4,0.0037896,0.0018948]';
  assertEquals(figures, [halved, halved]);
  assert(counted.commits > 30, `only ${counted.commits} commits`);
  for (const kind of KINDS) {
    await t.step(`${kind}, at each of ${counted.commits} commits`, async () => {
      for (let at = 0; at < counted.commits; at++) {
        const plan = new OneFault(kind, at);
        // Every second time the process ends before the client comes back.
        const found = await playWorkload(plan, at % 2 === 1).catch((error) => {
          throw new Error(`${kind} at commit ${at}`, { cause: error });
        });
        assertEquals(found, figures, `${kind} at commit ${at}`);
        assert(plan.commits > at, `no commit ${at}`);
      }
    });
  }
});
