/** Checks and rows that runs cost: their own ones, and those that the runs of a commit share. */
import { assertEquals } from "@std/assert";
import { keys } from "../../../kv/base/keys.ts";
import { storedJudge } from "../../support/builders/judges.ts";
import { finish, open, TEAM } from "../../support/builders/stored_runs.ts";
import type { Write } from "../../../kv/writer/group.ts";
import { append, beat, HookedProcess } from "../../support/harness/hooked_process.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const RUNS = 40;

/** Rows that each commit of a team's runs changes, whatever the number of the runs. */
const OF_COMMIT = { "set version": 1, "set day": 1, "set activity": 1 };

/** Names of families of rows that differ from the first part of their keys. */
const NAMES: Readonly<Record<string, string>> = {
  rollup_version: "version",
  rollup_day: "day",
  agent_activity: "activity",
};

type Counts = Record<string, number>;

/** Counts checks and mutations of a write by the family of their rows; those of runs by part. */
function countWrite({ checks = [], sums = [], sets = [], deletes = [] }: Write, counts: Counts) {
  const count = (kind: string, [family, , , part]: Deno.KvKey) => {
    const name = family === "run" ? String(part) : NAMES[String(family)] ?? String(family);
    counts[`${kind} ${name}`] = (counts[`${kind} ${name}`] ?? 0) + 1;
  };
  for (const { key } of checks) count("check", key);
  for (const { key } of sums) count("sum", key);
  for (const { key } of sets) count("set", key);
  for (const key of deletes) count("delete", key);
}

/** A process that counts what its commits check and change. */
async function counting(temp: TempStore) {
  const process = await HookedProcess.ready(temp.store);
  // Rows that only the first commit of a team writes.
  await beat(process, 0);
  await process.work();
  let counts: Counts = {};
  process.commit = (write, commit) => {
    countWrite(write, counts);
    return commit(write);
  };
  /** Returns the counts of all commits of some work. */
  const during = async (work: () => Promise<unknown>) => {
    counts = {};
    await work();
    return counts;
  };
  return { process, during };
}

/** Calls a function for each run at once. */
function each(call: (n: number) => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: RUNS }, (_, i) => call(i + 1)));
}

/** Multiplies counts. */
function times(factor: number, counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).map(([name, n]) => [name, factor * n]));
}

TempStore.test("rows: a heartbeat has a row of its own and a summary, and shares all others", async (temp) => {
  const { process, during } = await counting(temp);
  const called = await during(() => each((n) => beat(process, n)));
  assertEquals(
    called,
    times(RUNS, { "check opening": 1, "check closing": 1, "sum usage": 1, "set closing": 1 }),
  );
  const { reads } = process;
  const projected = await during(() => process.work());
  // The marks of all runs are in at most a row for each commit of their calls.
  const { "delete dirty": marks = 0, "check version": commits = 0, ...counts } = projected;
  assertEquals([marks <= RUNS, process.reads], [true, reads]);
  assertEquals(counts, {
    ...times(commits, { ...OF_COMMIT, "set rollup": 6, "set block": 5 }),
    ...times(RUNS, { "check summary": 1, "set summary": 1 }),
  });
});

TempStore.test("rows: a run that is closed before the worker's turn has one summary, and is not read", async (temp) => {
  const { process, during } = await counting(temp);
  const called = await during(() =>
    each(async (n) => {
      await open(process.runs, n);
      await append(process, n, 1, 2);
      await finish(process.runs, n);
    })
  );
  assertEquals(
    called,
    times(RUNS, {
      ...{ "check opening": 1, "check closing": 2, "check ledger": 1, "sum usage": 3 },
      ...{ "set opening": 1, "set closing": 1, "set ledger": 1, "set events": 1 },
    }),
  );
  const { reads } = process;
  const projected = await during(() => process.work());
  const { "delete dirty": marks = 0, "check version": commits = 0, ...counts } = projected;
  assertEquals([marks <= 3 * RUNS, process.reads], [true, reads]);
  assertEquals(counts, {
    ...times(commits, { ...OF_COMMIT, "set rollup": 8, "set block": 7 }),
    ...times(RUNS, { "check summary": 1, "set summary": 1 }),
  });
});

TempStore.test("rows: a judge costs a run that it applies to one row of work, and others nothing", async (temp) => {
  const judges = [storedJudge("helpful"), storedJudge("other", { agents: ["another-agent"] })];
  await temp.store.writer.commit({
    team: TEAM.id,
    sets: [
      ...judges.map((value) => ({ key: keys.configObject(TEAM.id, "judge", value.slug), value })),
      { key: keys.config(TEAM.id), value: 1 },
    ],
  });
  const { process, during } = await counting(temp);
  const { reads } = process;
  await each((n) => beat(process, n));
  const { "set work": work, "set summary": summaries } = await during(() => process.work());
  assertEquals([work, summaries, process.reads], [RUNS, RUNS, reads]);
});
