/** Commands of a sequence: a call, a resent call, a restart, or a complete comparison. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { checkBatch, checkGuard } from "./budgets.ts";
import { checkAll, checkAnswer, checkMinted } from "./check.ts";
import { type Command, command, restart } from "./command.ts";
import { step } from "./model.ts";
import { anyMonitorCall, change, pass, passed } from "./monitor_commands.ts";
import { waitingOutcomes } from "./monitor_state.ts";
import { runOfPing } from "./pings.ts";
import { doWork, passAllDeadlines, type Play } from "./running.ts";
import { anyRequest, type Change, changed, changes, RUN_IDS } from "./requests.ts";
import type { Answer, Request } from "./shape.ts";
import { send, type WireAnswer } from "./wire.ts";
import type { World } from "./world.ts";

/** Maximum attempts of one call: more than there are faults in a sequence. */
const ATTEMPTS_MAX = 100;

/** Probability that a call is sent twice at once, where several instances receive it. */
const TWICE = 1 / 4;

/**
 * Sends a call to the service until it is acknowledged, and to the model; compares the responses.
 */
export async function call(play: Play, world: World, request: Request): Promise<void> {
  const isTwice = world.isShared && !isUnnamed(request) && !createsMonitor(request) &&
    world.chance(TWICE);
  const sent = await Promise.all(
    [request, ...isTwice ? [request] : []].map((each) => send(world, each)),
  );
  const actual = sent.filter((answer) => answer !== null);
  const isRepeated = actual.length < sent.length;
  for (let attempt = 2; actual.length === 0; attempt++) {
    assert(play.isFaulty && attempt < ATTEMPTS_MAX, "never acknowledged");
    const answer = await send(world, request);
    if (answer !== null) actual.push(answer);
  }
  const [{ status, id }] = actual as [WireAnswer];
  const isMinted = status < 400 && isUnnamed(request);
  const known = runOfPing(play.state, request, world.nowMs);
  if (isMinted && known !== null) assertEquals(id, known, "the run that the ping belongs to");
  const named = isMinted
    ? { ...request, minted: known ?? checkMinted(id, play.state, world.nowMs) }
    : request;
  const [next, answer] = step(play.state, named, world.nowMs);
  play.cells.call(play.state, named, answer);
  const [, again] = step(next, named, world.nowMs);
  if (isTwice && !isRepeated) checkBoth(named, actual, [answer, again]);
  else for (const one of actual) checkAnswer(named, one, answer, isRepeated ? [again] : []);
  play.state = next;
  play.history.push(request);
  if (play.hasBudgets) { for (const one of actual) checkBatch(play, world, named, one); }
}

/** Compares the responses to a call that was sent twice: one of the two was the first. */
function checkBoth(
  request: Request,
  [one, other]: readonly WireAnswer[],
  [first, again]: readonly [Answer, Answer],
): void {
  assert(one !== undefined && other !== undefined);
  try {
    checkAnswer(request, one, first);
    checkAnswer(request, other, again);
  } catch {
    checkAnswer(request, other, first);
    checkAnswer(request, one, again);
  }
}

/** The monitor that a ping creates depends on the runs that are counted. */
function createsMonitor({ call, fields }: Request): boolean {
  return call === "ping" && (fields.every ?? fields.cron) !== undefined;
}

/** A heartbeat without an id creates another run each time it is sent. */
function isUnnamed({ call, fields }: Request): boolean {
  return (call === "heartbeat" || call === "ping") && (fields.id ?? null) === null;
}

/** A call that is created during execution, after the clock has advanced. */
function callCommand(
  what: string,
  afterMs: number,
  make: (history: readonly Request[]) => Request | undefined,
): Command {
  return command(`${what} after ${afterMs} ms`, async (play, world) => {
    const request = make(play.history);
    assert(request !== undefined);
    play.log.push(JSON.stringify(request));
    world.nowMs += afterMs;
    // Outcomes that wait together are counted in any order, which shows in the flips.
    const isWaiting = waitingOutcomes(play.state).length > 0;
    if (isWaiting || createsMonitor(request)) await doWork(play, world);
    await call(play, world, request);
  }, ({ history, isFaulty }) => {
    const request = make(history);
    // A call without an id cannot be checked if its response is lost: it may or may not be stored.
    return request !== undefined && !(isFaulty && (isUnnamed(request) || createsMonitor(request)));
  });
}

const RESTART = command("restart", async (play, world) => {
  play.cells.restart(play.state, RUN_IDS);
  await restart(play, world);
  // Its guard reads the budgets before the next call.
  await world.send("POST", "/v1/guard/check");
});

const COMPARE = command("compare everything", async (play, world) => {
  play.state = await checkAll(world, play.state, play.revisions);
  await checkGuard(play, world);
});

const afterMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 1_000) },
  { weight: 2, arbitrary: fc.constantFrom(61_000, 6 * 3_600_000) },
  { weight: 1, arbitrary: fc.constant(10 * 86_400_000) },
);

/** After a fault, the deadlines may be handled later than now. */
const isSound = ({ isFaulty }: Readonly<Play>) => !isFaulty;

/** Time that passes without the clock, and with it; then all deadlines are handled. */
const deadlines = fc.constantFrom(0, 59_000, 62_000, 62_000, 3_600_000).map((ms) =>
  command(`look ${ms} ms`, async (play, world) => {
    world.nowMs += ms;
    await passAllDeadlines(play, world);
  }, isSound)
);
const passes = passed.map((ms) =>
  command(`pass ${ms} ms`, (play, world) => pass(play, world, ms), isSound)
);
const monitors = fc.tuple(afterMs, anyMonitorCall).map(([ms, call]) =>
  command(`${JSON.stringify(call)} after ${ms} ms`, async (play, world) => {
    world.nowMs += ms;
    await change(play, world, call);
  })
);
const fresh = fc.tuple(afterMs, anyRequest)
  .map(([ms, request]) => callCommand("call", ms, () => request));
const again = fc.tuple(afterMs, fc.nat(1_000))
  .map(([ms, n]) => callCommand("again", ms, (history) => history[n % history.length]));
const mutated = fc.tuple(afterMs, fc.nat(1_000), changes).map(([ms, n, change]) => {
  const make = (history: readonly Request[]) => mutate(history[n % history.length], change);
  return callCommand(`changed (${change.what})`, ms, make);
});

function mutate(request: Request | undefined, change: Change): Request | undefined {
  return request && changed(request, change);
}

/** Returns the commands of a sequence; half the sequences are shorter than half the maximum. */
export function sequences(commandsMax: number) {
  const command = fc.oneof(
    { weight: 60, arbitrary: fresh },
    { weight: 10, arbitrary: again },
    { weight: 20, arbitrary: mutated },
    { weight: 16, arbitrary: deadlines },
    { weight: 5, arbitrary: passes },
    { weight: 8, arbitrary: monitors },
    { weight: 1, arbitrary: fc.constant(RESTART) },
    { weight: 1, arbitrary: fc.constant(COMPARE) },
  );
  return fc.commands([command], { maxCommands: commandsMax, size: "max" });
}
