/** Which deliveries of a channel are sent together, and in which order. */
import { assertEquals } from "@std/assert";
import { planTry, type QueueEntry, triedAtOnce } from "../../../../domain/channels/delivery.ts";

const NOW = 1_000_000;

function entry(id: string, more: Partial<QueueEntry> = {}): QueueEntry {
  return { id, at: NOW, after: null, ...more };
}

const none = () => null;

Deno.test("try: chat and mail take all that is due, up to 20; others one", () => {
  const entries = Array.from({ length: 25 }, (_, n) => entry(`d${n}`, { at: NOW + n }));
  const groupAt = (type: Parameters<typeof triedAtOnce>[0], nowMs: number) =>
    planTry(entries, none, triedAtOnce(type), nowMs).group;
  for (const type of ["slack", "mattermost", "email"] as const) {
    assertEquals(groupAt(type, NOW + 100), entries.slice(0, 20).map(({ id }) => id));
    assertEquals(groupAt(type, NOW + 1), ["d0", "d1"]);
    assertEquals(groupAt(type, NOW - 1), []);
  }
  for (const type of ["webhook", "pagerduty"] as const) {
    assertEquals(groupAt(type, NOW + 100), ["d0"]);
  }
});

Deno.test("try: a delivery waits until the one before it has ended, and others pass", () => {
  const resolved = entry("r", { after: "o" });
  const waitsUntil = (id: string) => id === "o" ? NOW + 5_000 : null;
  for (const max of [1, 20]) {
    const plan = planTry([resolved, entry("x")], waitsUntil, max, NOW);
    assertEquals(plan.group, ["x"]);
    assertEquals([...plan.moved], [["r", NOW + 5_001]]);
  }
  assertEquals(planTry([resolved], none, 1, NOW).group, ["r"]);
});

Deno.test("try: messages of one incident go in order in one request", () => {
  const entries = [entry("o"), entry("k", { after: "o" })];
  assertEquals(planTry(entries, () => NOW, 20, NOW).group, ["o", "k"]);
  assertEquals(planTry(entries, () => NOW, 1, NOW).group, ["o"]);
});
