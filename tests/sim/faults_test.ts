/** A store that fails at any one commit: what was acknowledged is there, and nothing is there twice. */
import { isDeepStrictEqual as equal } from "node:util";
import { assert, assertEquals } from "@std/assert";
import { checkAll } from "./check.ts";
import { hurriedTimers, KINDS, openFaulty, Plan } from "./faults.ts";
import { step } from "./model.ts";
import { begin } from "./play.ts";
import type { Answer, Request, State } from "./shape.ts";
import { send, type Told } from "./wire.ts";
import { type Step, WORKLOAD } from "./workload.ts";
import type { World } from "./world.ts";

/** Milliseconds between two steps, by the server's clock. */
const STEP_MS = 1_000;

/**
 * Plays the workload: whatever was not acknowledged is sent again, after a restart where one is wanted,
 * until it is. In the end the store is the model's.
 */
async function playWorkload(plan: Plan, restarts: boolean): Promise<void> {
  await using world = await openFaulty(plan, { tier: "team" });
  plan.start();
  let { state } = begin("team");
  for (const each of WORKLOAD) {
    world.nowMs += STEP_MS;
    state = typeof each === "string"
      ? await other(world, state, each)
      : await deliver(world, state, each, restarts);
  }
  await checkAll(world, state, null, ["reprice", "active_reprice"]);
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
    case "reprice": {
      const body = JSON.stringify({ model: "atlas" });
      while ((await world.send("POST", "/v1/rate-card/reprice", body)).status === 503);
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
  const expected = new Map<Request, Answer[]>();
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
      const [first, again] = expected.get(request) ?? [];
      // Sent again it may have been stored before, and what was sent beside it as well.
      const others = attempt === 1 ? [] : [again, step(state, request, now)[1]];
      assertOneOf(answer, [first, ...others]);
    }
    waiting = waiting.filter((_, i) => told[i] === null);
  }
  return state;
}

function assertOneOf({ id: _, ...told }: Told, answers: readonly (Answer | undefined)[]): void {
  if (!answers.some((answer) => equal(told, answer))) assertEquals<unknown>(told, answers[0]);
}

Deno.test("faults: at whichever commit the store fails, retries end in the model's store", async (t) => {
  using _ = hurriedTimers();
  const counted = new Plan("none", 0);
  await playWorkload(counted, false);
  assert(counted.commits > 30, `only ${counted.commits} commits`);
  for (const kind of KINDS) {
    await t.step(`${kind}, at each of ${counted.commits} commits`, async () => {
      for (let at = 0; at < counted.commits; at++) {
        const plan = new Plan(kind, at);
        // Every second time the process ends before the client comes back.
        await playWorkload(plan, at % 2 === 1).catch((error) => {
          throw new Error(`${kind} at commit ${at}`, { cause: error });
        });
        assert(plan.commits > at, `no commit ${at}`);
      }
    });
  }
});
