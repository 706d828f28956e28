/** Plays sequences of commands about alerts, generated from seeds. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Fault, FAULTS } from "../../support/fakes/fault_kv.ts";
import { alertSequences } from "./alert_commands.ts";
import { beginAlerts, CHANNEL, compareAlerts } from "./alert_running.ts";
import { Cells } from "./cells.ts";
import { hurriedTimers, openFaulty } from "./faults.ts";
import { begin } from "./play.ts";

/** Commands of the longest sequence; the average sequence has half as many. */
const COMMANDS_MAX = 80;

/** Commits of a sequence that may meet faults. */
const FAULTS_MAX = 60;

/** Milliseconds for shrinking a failing sequence. */
const SHRINK_MS = 30_000;

/** Faults of the first commits of calls and of the worker; most sequences have none. */
const faults = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Fault[]>([]) },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: fc.constant<Fault>("none") },
        { weight: 1, arbitrary: fc.constantFrom(...FAULTS) },
      ),
      { maxLength: FAULTS_MAX, size: "max" },
    ),
  },
);
const plays = fc.tuple(faults, alertSequences(COMMANDS_MAX));
type Played = typeof plays extends fc.Arbitrary<infer T> ? T : never;

/**
 * Plays the sequence of a seed; returns the failure of the smallest sequence that still fails.
 *
 * @param instances instances of the service on one store, which then repeats commits
 */
export async function playAlertSeed(seed: number, instances = 1): Promise<string | null> {
  const property = fc.asyncProperty(plays, (played) => playOne(played, instances));
  const options = { seed, numRuns: 1, interruptAfterTimeLimit: SHRINK_MS };
  const { failed, errorInstance } = await fc.check(property, options);
  if (!failed) return null;
  const failure = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `sequence ${seed}: ${failure}`;
}

async function playOne([faults, commands]: Played, instances: number): Promise<void> {
  const play = beginAlerts(begin("team", new Cells(), faults.length > 0));
  using _ = hurriedTimers();
  try {
    let commits = 0;
    const plan = {
      next: () => play.meetsFaults ? faults[commits++] ?? "none" : "none",
      mayRepeat: instances > 1 || faults.includes("repeat"),
    };
    await using world = await openFaulty(plan, { tier: "team", instances });
    await world.putRates();
    // Runs that are stuck are looked at each minute, which takes long in days.
    await world.send("DELETE", "/v1/rules/stuck");
    const { slug, body } = CHANNEL;
    const { status, text } = await world.send("PUT", `/v1/channels/${slug}`, JSON.stringify(body));
    assertEquals(status, 202, text);

    await fc.asyncModelRun(() => ({ model: play, real: world }), commands);
    await compareAlerts(play, world);
  } catch (error) {
    const why = error instanceof Error ? error.stack : String(error);
    const what = `faults: ${faults.join(", ") || "none"}`;
    throw new Error([what, ...play.log, why].join("\n"), { cause: error });
  }
}
