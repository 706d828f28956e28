/** Tests strips and the uptime of a monitor. */
import { assertEquals } from "@std/assert";
import { stripOf, uptimeOf } from "../../../../domain/monitors/flips.ts";
import type { Flip } from "../../../../domain/monitors/monitor.ts";

const flip = (at: number, from: Flip["from"], to: Flip["to"], until?: number): Flip => ({
  ...{ at, from, to, reason: "expected" },
  ...until === undefined ? {} : { until },
});

const DAY = [flip(10, null, "up"), flip(40, "up", "late"), flip(50, "late", "down")];
const BACK = [...DAY, flip(70, "down", "up")];

Deno.test("uptime: the part of the judged time that was not down", () => {
  assertEquals(uptimeOf(BACK, "up", 10, 110), 0.8);
  assertEquals(uptimeOf(BACK, "up", 0, 110), 0.8);
  assertEquals(uptimeOf(BACK.toReversed(), "up", 60, 80), 0.5);
  assertEquals(uptimeOf(BACK.slice(3), "up", 60, 80), 0.5);
  assertEquals(uptimeOf([], "down", 0, 10), 0);
  assertEquals(uptimeOf([], "late", 0, 10), 1);
});

Deno.test("uptime: null while nothing was judged", () => {
  assertEquals(uptimeOf([], "new", 0, 10), null);
  assertEquals(uptimeOf([flip(0, "up", "paused")], "paused", 0, 10), null);
  assertEquals(uptimeOf([flip(0, "up", "unknown", 10)], "up", 0, 10), null);
  assertEquals(uptimeOf([flip(10, null, "up")], "up", 0, 10), null);
});

Deno.test("uptime: an absence is no judged time", () => {
  const flips = [...BACK, flip(60, "down", "unknown", 80)];
  assertEquals(uptimeOf(flips, "up", 40, 90), (10 + 10) / 30);
  assertEquals(stripOf([flip(2, "down", "unknown", 8)], "down", 0, 10, 5), [
    ...["down", "none", "none", "none", "down"],
  ]);
});

Deno.test("strip: each part has the worst state of its time", () => {
  assertEquals(stripOf(BACK, "up", 0, 100, 10), [
    ...["none", "ok", "ok", "ok", "late", "down", "down", "ok", "ok", "ok"],
  ]);
  assertEquals(stripOf(BACK, "up", 0, 100, 4), ["ok", "late", "down", "ok"]);
  assertEquals(stripOf([], "new", 0, 100, 2), ["none", "none"]);
  assertEquals(stripOf([flip(50, "up", "down"), flip(51, "down", "up")], "up", 0, 99, 3), [
    ...["ok", "down", "ok"],
  ]);
});
