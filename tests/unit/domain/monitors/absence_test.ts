/** Tests what an absence and waiting calls postpone (decision 51). */
import { assertEquals } from "@std/assert";
import { deadlinesOf, evaluateMonitor, nextDueAt } from "../../../../domain/monitors/monitor.ts";
import { created, HOUR, MINUTE, outcome, short, T0, turn, Watched } from "./monitors.ts";

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
