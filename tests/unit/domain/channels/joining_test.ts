/** Which deliveries of a channel are sent together, and in which order. */
import { assertEquals } from "@std/assert";
import { planQueue, type QueueEntry } from "../../../../domain/channels/joining.ts";
import { JOIN_MS } from "../../../../domain/channels/new_delivery.ts";

const NOW = 1_000_000;

function entry(id: string, more: Partial<QueueEntry> = {}): QueueEntry {
  return {
    id,
    at: NOW,
    incident: `inc_${id}`,
    event: "incident.opened",
    after: null,
    isFirst: true,
    ...more,
  };
}

const none = () => null;

Deno.test("joining: chat joins up to 20 new messages once the first one is due", () => {
  const entries = Array.from({ length: 25 }, (_, n) => entry(`d${n}`, { at: NOW + n }));
  const { group } = planQueue(entries, none, true, NOW);
  assertEquals(group, entries.slice(0, 20).map(({ id }) => id));
  assertEquals(planQueue(entries, none, false, NOW).group, ["d0"]);
  assertEquals(planQueue(entries, none, true, NOW - 1).group, []);
});

Deno.test("joining: a retry is sent alone, and joins nothing", () => {
  const retry = entry("retry", { isFirst: false });
  assertEquals(planQueue([retry, entry("a")], none, true, NOW).group, ["retry"]);
  assertEquals(planQueue([entry("a"), retry, entry("b")], none, true, NOW).group, ["a", "b"]);
});

Deno.test("joining: messages that come after the wait are not joined", () => {
  const late = entry("late", { at: NOW + JOIN_MS + 1 });
  assertEquals(planQueue([entry("a"), late], none, true, NOW).group, ["a"]);
});

Deno.test("joining: an incident that opened and ended while it waited is not sent", () => {
  const opened = entry("o", { incident: "inc_1" });
  const acknowledged = entry("k", {
    incident: "inc_1",
    event: "incident.acknowledged",
    after: "o",
  });
  const resolved = entry("r", { incident: "inc_1", event: "incident.resolved", after: "k" });
  const other = entry("x");
  const entries = [opened, acknowledged, resolved, other];
  const plan = planQueue(entries, none, true, NOW);
  assertEquals([plan.group, plan.cancelled], [["x"], ["o", "k", "r"]]);
  assertEquals(planQueue(entries, none, false, NOW).cancelled, []);
});

Deno.test("joining: an incident whose opening was tried is reported as resolved", () => {
  const opened = entry("o", { incident: "inc_1", isFirst: false });
  const resolved = entry("r", { incident: "inc_1", event: "incident.resolved", after: "o" });
  const plan = planQueue([opened, resolved], () => NOW, true, NOW);
  assertEquals([plan.group, plan.cancelled], [["o"], []]);
});

Deno.test("joining: a delivery waits until the one before it has ended, and others pass", () => {
  const resolved = entry("r", { event: "incident.resolved", after: "o" });
  const waitsUntil = (id: string) => id === "o" ? NOW + 5_000 : null;
  for (const joins of [false, true]) {
    const plan = planQueue([resolved, entry("x")], waitsUntil, joins, NOW);
    assertEquals(plan.group, ["x"]);
    assertEquals([...plan.moved], [["r", NOW + 5_001]]);
  }
  assertEquals(planQueue([resolved], none, false, NOW).group, ["r"]);
});

Deno.test("joining: messages of one incident go in order in one request", () => {
  const opened = entry("o", { incident: "inc_1" });
  const acknowledged = entry("k", {
    incident: "inc_1",
    event: "incident.acknowledged",
    after: "o",
  });
  assertEquals(planQueue([opened, acknowledged], () => NOW, true, NOW).group, ["o", "k"]);
  assertEquals(planQueue([opened, acknowledged], () => NOW, false, NOW).group, ["o"]);
});
