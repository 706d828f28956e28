/** Deadlines of groups that fire. */
import { assertEquals } from "@std/assert";
import { repeatDueAt } from "../../../../domain/alerts/instance.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const HOUR = 3_600_000;

Deno.test("messages are repeated while the incident is open", () => {
  const due = (renotifySeconds: number, changed = {}) => {
    const incident = { notifiedAt: NOON, state: "open", ...changed } as const;
    const at = repeatDueAt({ renotifySeconds }, incident);
    return at === null ? null : (at - NOON) / HOUR;
  };
  assertEquals(due(2 * 3_600), 2);
  assertEquals(due(2 * 3_600, { state: "acknowledged" }), null);
  assertEquals(due(2 * 3_600, { notifiedAt: null }), null);
  assertEquals(due(0), null);
  assertEquals(due(604_800), 7 * 24);
});
