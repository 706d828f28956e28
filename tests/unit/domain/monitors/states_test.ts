/** Tests the table of states of decision 110, row by row. */
import { assertEquals } from "@std/assert";
import {
  addOutcomes,
  changeSettings,
  createMonitor,
  deadlinesOf,
  evaluateMonitor,
  nextDueAt,
  pauseMonitor,
  resumeMonitor,
} from "../../../../domain/monitors/monitor.ts";
import { created, HOUR, MINUTE, outcome, settings, short, T0, turn, Watched } from "./monitors.ts";

const MADE = { at: T0 + 5 * HOUR, by: "key" };

Deno.test("monitor: a created one is new without an outcome, up with one, paused if not enabled", () => {
  const never = { lastArrivalAt: null, lastOkAt: null };
  const made = { at: T0, by: "k" };
  const create = (last: typeof never | { lastArrivalAt: number; lastOkAt: number }, on = true) => {
    const change = createMonitor("a", "mon_eu_1", settings({ enabled: on }), made, last);
    return [...short(change.flips), deadlinesOf(change.monitor).expectedAt];
  };
  assertEquals(create(never), ["0 null>new created", null]);
  const past = { lastArrivalAt: 5, lastOkAt: 5 };
  assertEquals(create(past), ["0 null>up created", T0 + HOUR]);
  assertEquals(create(past, false), ["0 null>paused created", null]);
});

Deno.test("monitor: a new one stays new until an outcome", () => {
  const monitor = created({}, null);
  assertEquals(nextDueAt(monitor, T0, 0), null);
  assertEquals(short(evaluateMonitor(monitor, turn(T0 + 900 * HOUR)).flips), []);
  const { flips } = addOutcomes(monitor, [outcome(T0 + MINUTE, "good")]);
  assertEquals(short(flips), ["60 new>up arrived"]);
  // An outcome that is no success is one too: from now on a run is expected.
  const patient = created({ failureThreshold: 2 }, null);
  const failed = addOutcomes(patient, [outcome(T0 + MINUTE, "bad")]);
  assertEquals(short(failed.flips), ["60 new>up arrived"]);
  assertEquals(deadlinesOf(failed.monitor).expectedAt, T0 + MINUTE + HOUR);
  const down = addOutcomes(created({}, null), [outcome(T0 + MINUTE, "bad")]);
  assertEquals(short(down.flips), ["60 new>down failed"]);
});

Deno.test("monitor: it is late and down at the instants of its deadlines", () => {
  const watched = new Watched(created());
  assertEquals(nextDueAt(watched.monitor, T0, 0), T0 + HOUR);
  watched.evaluate(T0 + HOUR - 1);
  assertEquals(short(watched.flips), []);
  watched.evaluate(T0 + HOUR + 7_000);
  assertEquals(short(watched.flips), ["3600 up>late expected"]);
  assertEquals(nextDueAt(watched.monitor, T0 + HOUR + 7_000, 0), T0 + HOUR + 10 * MINUTE);
  watched.evaluate(T0 + 2 * HOUR).evaluate(T0 + 3 * HOUR);
  assertEquals(short(watched.flips).slice(1), ["4200 late>down missed"]);
  assertEquals(watched.monitor.since, T0 + HOUR + 10 * MINUTE);
  assertEquals(nextDueAt(watched.monitor, T0 + 3 * HOUR, 0), null);
});

Deno.test("monitor: one late evaluation makes both changes; without grace it is down at once", () => {
  const late = evaluateMonitor(created(), turn(T0 + 5 * HOUR));
  assertEquals(short(late.flips), ["3600 up>late expected", "4200 late>down missed"]);
  const now = evaluateMonitor(created({ graceSeconds: 0 }), turn(T0 + 5 * HOUR));
  assertEquals(short(now.flips), ["3600 up>down missed"]);
});

Deno.test("monitor: failures in a row make it down, and successes in a row up", () => {
  const watched = new Watched(created({ failureThreshold: 2, recoveryThreshold: 2 }));
  watched.add(outcome(T0 + 1_000, "bad"), outcome(T0 + 2_000, "good"), outcome(T0 + 3_000, "bad"));
  assertEquals(short(watched.flips), []);
  watched.add(outcome(T0 + 4_000, "bad"));
  assertEquals(short(watched.flips), ["4 up>down failed"]);
  assertEquals(watched.flips[0]?.run, outcome(T0 + 4_000, "bad").run);
  watched.add(outcome(T0 + 5_000, "good"), outcome(T0 + 6_000, "bad"), outcome(T0 + 7_000, "good"));
  assertEquals(watched.monitor.state, "down");
  watched.add(outcome(T0 + 8_000, "good"));
  assertEquals(short(watched.flips).slice(1), ["8 down>up recovered"]);
});

Deno.test("monitor: an overrun makes it down, its run's success up", () => {
  const watched = new Watched(created({ failureThreshold: 5 }));
  watched.add(outcome(T0 + 1_000, "overrun", 1));
  assertEquals(short(watched.flips), ["1 up>down overrun"]);
  assertEquals(watched.monitor.lastArrivalAt, T0 - HOUR);
  watched.add(outcome(T0 + 2_000, "good", 1), outcome(T0 + 1_000, "overrun", 1));
  assertEquals(short(watched.flips).slice(1), ["2 down>up recovered"]);
  // An end before the overrun that is counted after it takes it back.
  const late = new Watched(created({ failureThreshold: 5 })).add(outcome(T0 + 9_000, "overrun", 1));
  late.add(outcome(T0 + 8_000, "bad", 1));
  assertEquals(short(late.flips), ["9 up>down overrun", "9 down>up recovered"]);
});

Deno.test("monitor: after a missed run, successes count from the deadline on", () => {
  const watched = new Watched(created({ recoveryThreshold: 2 }));
  watched.add(outcome(T0 + 1_000, "good")).evaluate(T0 + 2 * HOUR).add(
    outcome(T0 + 3 * HOUR, "good"),
  );
  assertEquals(watched.monitor.state, "down");
  watched.add(outcome(T0 + 4 * HOUR, "good"));
  assertEquals(watched.monitor.state, "up");
});

Deno.test("monitor: a pause ends at its instant, at the next success, or by hand", () => {
  const at = T0 + MINUTE;
  const paused = (untilMs: number | null, isSticky: boolean) =>
    new Watched(created()).do(pauseMonitor(created(), { untilMs, isSticky }, at));
  const timed = paused(T0 + 9 * HOUR, true);
  assertEquals(deadlinesOf(timed.monitor), { expectedAt: null, downAfter: null });
  assertEquals(nextDueAt(timed.monitor, at, 3), T0 + 9 * HOUR);
  timed.evaluate(T0 + 8 * HOUR).add(outcome(T0 + 8 * HOUR, "good")).evaluate(T0 + 9 * HOUR + 5_000);
  assertEquals(short(timed.flips), ["60 up>paused paused", "32400 paused>up resumed"]);
  assertEquals(deadlinesOf(timed.monitor).expectedAt, T0 + 10 * HOUR);

  const open = paused(null, false).add(
    outcome(T0 + 2 * HOUR, "bad"),
    outcome(T0 + 3 * HOUR, "good"),
  );
  assertEquals(short(open.flips), ["60 up>paused paused", "10800 paused>up resumed"]);
  assertEquals(nextDueAt(open.monitor, T0 + 3 * HOUR, 0), T0 + 4 * HOUR);

  const sticky = paused(null, true).add(outcome(T0 + 2 * HOUR, "good"));
  assertEquals([sticky.monitor.state, nextDueAt(sticky.monitor, T0, 0)], ["paused", null]);
  sticky.do(resumeMonitor(sticky.monitor, T0 + 4 * HOUR));
  assertEquals(short(sticky.flips).slice(1), ["14400 paused>up resumed"]);
  assertEquals(deadlinesOf(sticky.monitor).expectedAt, T0 + 5 * HOUR);
});

Deno.test("monitor: a success before the pause that is counted late does not end it", () => {
  const paused = pauseMonitor(created(), { untilMs: null, isSticky: false }, T0 + HOUR).monitor;
  assertEquals(addOutcomes(paused, [outcome(T0 + MINUTE, "good")]).monitor.state, "paused");
  const never = resumeMonitor(created(), T0);
  assertEquals([never.monitor, never.flips], [created(), []]);
});

Deno.test("monitor: equal settings change nothing, others make a version", () => {
  assertEquals(changeSettings(created(), settings(), MADE), null);
  const changed = changeSettings(created(), settings({ graceSeconds: 60 }), MADE)?.monitor;
  assertEquals([changed?.version, changed?.updatedAt, changed?.updatedBy], [2, MADE.at, "key"]);
});

Deno.test("monitor: enabled turns judging off and on", () => {
  const watched = new Watched(created());
  watched.do(changeSettings(watched.monitor, settings({ enabled: false }), MADE));
  watched.add(outcome(T0 + 6 * HOUR, "bad")).evaluate(T0 + 99 * HOUR);
  watched.do(pauseMonitor(watched.monitor, { untilMs: null, isSticky: false }, T0 + 99 * HOUR));
  watched.do(resumeMonitor(watched.monitor, T0 + 100 * HOUR));
  assertEquals(short(watched.flips), ["18000 up>paused paused"]);
  const on = { at: T0 + 101 * HOUR, by: "k" };
  watched.do(changeSettings(watched.monitor, settings(), on));
  assertEquals(short(watched.flips).slice(1), ["363600 paused>up resumed"]);
  assertEquals(deadlinesOf(watched.monitor).expectedAt, T0 + 102 * HOUR);
});

Deno.test("monitor: a pause ends at its instant also while it is not enabled", () => {
  const watched = new Watched(created());
  watched.do(pauseMonitor(watched.monitor, { untilMs: T0 + 6 * HOUR, isSticky: true }, T0 + HOUR));
  watched.do(changeSettings(watched.monitor, settings({ enabled: false }), MADE));
  assertEquals(nextDueAt(watched.monitor, T0 + 5 * HOUR, 0), T0 + 6 * HOUR);
  watched.evaluate(T0 + 6 * HOUR);
  assertEquals([watched.monitor.state, watched.monitor.pause], ["paused", null]);
  watched.do(changeSettings(watched.monitor, settings(), { at: T0 + 9 * HOUR, by: "k" }));
  assertEquals(short(watched.flips), ["3600 up>paused paused", "32400 paused>up resumed"]);
});

Deno.test("monitor: a new schedule is expected from its change on", () => {
  const daily = settings({ schedule: { everySeconds: 86_400 } });
  for (const nowMs of [T0 + HOUR, T0 + 4 * HOUR]) {
    const watched = new Watched(created()).evaluate(nowMs);
    watched.do(changeSettings(watched.monitor, daily, MADE));
    assertEquals(short(watched.flips).at(-1)?.endsWith(">up changed"), true);
    assertEquals(deadlinesOf(watched.monitor).expectedAt, MADE.at + 24 * HOUR);
  }
});

Deno.test("monitor: a longer grace takes back a missed run, a shorter one is judged now", () => {
  const longer = new Watched(created()).evaluate(T0 + 4 * HOUR);
  longer.do(changeSettings(longer.monitor, settings({ graceSeconds: 36_000 }), MADE));
  assertEquals(short(longer.flips).at(-1), "18000 down>late changed");
  longer.evaluate(T0 + 12 * HOUR);
  assertEquals(short(longer.flips).at(-1), "39600 late>down missed");
  const shorter = new Watched(created({ graceSeconds: 36_000 })).evaluate(T0 + HOUR);
  shorter.do(changeSettings(shorter.monitor, settings(), MADE)).evaluate(MADE.at + 3_000);
  assertEquals(short(shorter.flips).at(-1), "18000 late>down missed");
});

Deno.test("monitor: open runs of one with a maximum time are looked at each minute", () => {
  const monitor = created({ maxRuntimeSeconds: 60 });
  assertEquals(nextDueAt(monitor, T0, 1), T0 + MINUTE);
  assertEquals(nextDueAt(monitor, T0, 0), T0 + HOUR);
  assertEquals(nextDueAt(created({ maxRuntimeSeconds: 60 }, null), T0, 1), T0 + MINUTE);
});

const gap = (from: number, until: number) => [{ fromMs: T0 + from, untilMs: T0 + until }];

Deno.test("absence: a deadline inside is postponed by its length and one grace", () => {
  const away = gap(50 * MINUTE, 60 * MINUTE);
  const watched = new Watched(created()).evaluate(T0 + 60 * MINUTE, away);
  assertEquals(short(watched.flips), ["3000 up>unknown absence"]);
  assertEquals(watched.flips[0]?.until, T0 + HOUR);
  assertEquals(nextDueAt(watched.monitor, T0 + HOUR, 0), T0 + 70 * MINUTE);
  assertEquals(deadlinesOf(watched.monitor), {
    expectedAt: T0 + HOUR,
    downAfter: T0 + 80 * MINUTE,
  });
  watched.evaluate(T0 + 90 * MINUTE, away);
  assertEquals(short(watched.flips).slice(1), ["4200 up>late expected", "4800 late>down missed"]);
});

Deno.test("absence: a long one excuses 15 minutes and one grace", () => {
  const watched = new Watched(created()).evaluate(T0 + 9 * HOUR, gap(30 * MINUTE, 9 * 60 * MINUTE));
  assertEquals(deadlinesOf(watched.monitor).downAfter, T0 + 9 * HOUR + 25 * MINUTE);
});

Deno.test("absence: only the grace of a late one may end inside", () => {
  const watched = new Watched(created()).evaluate(T0 + HOUR);
  watched.evaluate(T0 + 75 * MINUTE, gap(65 * MINUTE, 75 * MINUTE));
  assertEquals(short(watched.flips), ["3600 up>late expected", "3900 late>unknown absence"]);
  watched.evaluate(T0 + 95 * MINUTE - 1);
  assertEquals(watched.monitor.state, "late");
  watched.evaluate(T0 + 95 * MINUTE);
  assertEquals(short(watched.flips).at(-1), "5700 late>down missed");
});

Deno.test("absence: a deadline outside is not postponed, and the row is written once", () => {
  const away = gap(10 * MINUTE, 20 * MINUTE);
  const watched = new Watched(created()).evaluate(T0 + HOUR, away).evaluate(T0 + HOUR, away);
  assertEquals(short(watched.flips), ["600 up>unknown absence", "3600 up>late expected"]);
  watched.add(outcome(T0 + HOUR + MINUTE, "good")).evaluate(T0 + 2 * HOUR, away);
  assertEquals(watched.flips.filter(({ to }) => to === "unknown").length, 1);
});

Deno.test("absence: neither a new nor a paused monitor shows it, nor one that was created after", () => {
  const flips = evaluateMonitor(created({}, null), turn(T0 + HOUR, gap(MINUTE, 5 * MINUTE))).flips;
  assertEquals(flips, []);
  assertEquals(evaluateMonitor(created(), turn(T0 + MINUTE, gap(-5 * MINUTE, -MINUTE))).flips, []);
  // Created by an instance while no process did the background work.
  const [shown] = evaluateMonitor(created(), turn(T0 + MINUTE, gap(-MINUTE, MINUTE))).flips;
  assertEquals([shown?.at, shown?.until], [T0, T0 + MINUTE]);
});

Deno.test("evaluation: a deadline waits for the calls that arrived before it", () => {
  const behind = { nowMs: T0 + 2 * HOUR, absences: [], summarizedToMs: T0 + HOUR - 1 };
  const { monitor, flips } = evaluateMonitor(created(), behind);
  assertEquals(flips, []);
  assertEquals(nextDueAt(monitor, behind.nowMs, 0), behind.nowMs + 2_000);
  const half = evaluateMonitor(created(), { ...behind, summarizedToMs: T0 + 65 * MINUTE });
  assertEquals(short(half.flips), ["3600 up>late expected"]);
});
