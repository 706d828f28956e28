/** Facts that are read apart from the head of a run. */
import { assertEquals } from "@std/assert";
import { EVENT_BYTES_MAX, EVENTS_READ_MAX } from "../../../../domain/checks/program.ts";
import { DESCENDANTS } from "../../../../domain/core/limits.ts";
import type { ScoreId } from "../../../../domain/core/ids.ts";
import { groupsOf } from "../../../../kv/base/reads.ts";
import { createScoreStore } from "../../../../kv/runs/scores.ts";
import { anEventOf, aScore, aTool } from "../../../support/builders/judged_events.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { aCall, finish, open, run, TEAM } from "../../../support/builders/stored_runs.ts";

AlertProcess.test("facts: calls by instant, whatever the order of their batches", async (process) => {
  const events = [
    aTool(1, "plan"),
    aTool(2, "look", { input: { a: 1, b: 2 } }),
    aTool(3, "plan"),
    aTool(4, "look", { input: { b: 2, a: 1 } }),
    aCall(5),
  ];
  await open(process.runs, 1);
  for (const event of [...events.toReversed(), ...events]) {
    await process.runs.append(TEAM, run(1), [event], NOON);
  }
  await finish(process.runs, 1);
  await process.closeWith(2, events);
  await process.work();
  const { facts, missing } = await process.factsOf(1, "tools", "calls", "longest_repeat");
  assertEquals(facts.tools.map(({ name }) => name), ["plan", "look", "plan", "look"]);
  assertEquals(facts.longest_repeat, { times: 2, name: "plan, look" });
  assertEquals(facts.calls.map(({ model, input_tokens }) => [model, input_tokens]), [["known", 5]]);
  assertEquals(missing, {});
  assertEquals((await process.factsOf(2, "tools", "calls", "longest_repeat")).facts, facts);
});

AlertProcess.test("facts: with more events than are read, their names are missing, and the others are not", async (process) => {
  const logs = Array.from({ length: EVENTS_READ_MAX - 1 }, (_, i) => anEventOf(i + 2, "log", {}));
  await process.closeWith(1, [aTool(1, "a")]);
  for (const group of groupsOf(logs, 1_000)) await process.runs.append(TEAM, run(1), group, NOON);
  await process.work();
  assertEquals((await process.factsOf(1, "tools")).facts.tools.length, 1);
  await process.runs.append(TEAM, run(1), [anEventOf(9_999, "log", {})], NOON);
  await process.work();
  const { facts, missing } = await process.factsOf(1, "tools", "longest_repeat", "status");
  assertEquals(facts, { status: "success" } as typeof facts);
  assertEquals(missing, { tools: "too_many_events", longest_repeat: "too_many_events" });
});

AlertProcess.test("facts: with more bytes than are read, names of events are missing", async (process) => {
  const share = EVENT_BYTES_MAX / 64;
  const around = JSON.stringify({ name: "a", x: "" }).length;
  const events = Array.from(
    { length: 63 },
    (_, i) => aTool(i, "a", { x: "z".repeat(share - around) }),
  );
  // Characters of two bytes; two bytes are left, or one.
  const last = aTool(63, "a", { x: "é".repeat(Math.floor((share - around - 1) / 2)) });
  await process.closeWith(1, [...events, last]);
  await process.work();
  assertEquals((await process.factsOf(1, "longest_repeat")).facts.longest_repeat.times, 64);
  await process.runs.append(TEAM, run(1), [anEventOf(64, "log", { x: 1 })], NOON);
  await process.work();
  const { missing } = await process.factsOf(1, "calls", "longest_repeat");
  assertEquals(missing, { longest_repeat: "too_many_events", calls: "too_many_events" });
});

AlertProcess.test("facts: scores of the finish first, then those of events by their instant, then by calls", async (process) => {
  const events = [aScore(1, "quality", 0.3), aScore(2, "quality", 0.2), aScore(3, "speed", 1)];
  const close = async (n: number, order: typeof events) => {
    await open(process.runs, n);
    for (const event of order) await process.runs.append(TEAM, run(n), [event], NOON + n);
    const scores = [["quality", 0.1], ["tone", true]] as const;
    await process.runs.finish(TEAM, run(n), { status: "success", finishedAt: NOON, scores }, NOON);
  };
  await close(1, events);
  await close(2, events.toReversed());
  await process.work();
  const scores = { quality: 0.2, tone: true, speed: 1 };
  for (const n of [1, 2]) assertEquals((await process.factsOf(n, "scores")).facts.scores, scores);
  const later = { id: "scr_eu_1" as ScoreId, name: "quality", value: 0.4, source: "person" };
  await createScoreStore(process.store).add(TEAM, run(1), later, NOON + 1_000);
  await process.work();
  assertEquals((await process.factsOf(1, "scores")).facts.scores.quality, 0.4);
});

AlertProcess.test("facts: the cost with children adds all descendants, or is missing beyond their limit", async (process) => {
  const start = async (n: number, parentRunId?: ReturnType<typeof run>) => {
    await open(process.runs, n, parentRunId === undefined ? {} : { parentRunId });
    await process.runs.append(TEAM, run(n), [aCall(n)], NOON);
    await finish(process.runs, n);
  };
  await start(1);
  await start(2, run(1));
  await start(3, run(2));
  await process.work();
  // An input token costs 3 picodollars, each call 5 for its answer.
  const cost = ((1 + 2 + 3) * 3 + 3 * 5) / 1e12;
  const { facts } = await process.factsOf(1, "cost_with_children_usd", "cost_usd");
  assertEquals(facts.cost_with_children_usd, cost);
  assertEquals(facts.cost_usd, 8 / 1e12);
  for (let n = 4; n < 4 + DESCENDANTS.max; n++) {
    await open(process.runs, n, { parentRunId: run(1) });
  }
  await process.work();
  const { missing } = await process.factsOf(1, "cost_with_children_usd");
  assertEquals(missing, { cost_with_children_usd: "too_many_children" });
});
