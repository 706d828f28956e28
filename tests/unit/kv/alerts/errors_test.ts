/** Errors of runs in incidents: from the head in memory, or read if memory holds only a part. */
import { assertEquals } from "@std/assert";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";

const ONE_FAILURE = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;

AlertProcess.test("an incident has the error of its run, which is read only if it is long", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  // The first one is read: a new process does not know of earlier marks.
  const errors = ["first", "no space left", "no space left ".repeat(100)];
  const parts = errors.map((_, n) => JSON.stringify(keys.run(TEAM.id, run(n + 1))));
  const readRuns: number[] = [];
  const list = here.store.reader.list.bind(here.store.reader);
  here.store.reader.list = (selector, options) => {
    const start = JSON.stringify("start" in selector ? selector.start : null);
    if (parts.includes(start)) readRuns.push(parts.indexOf(start) + 1);
    return list(selector, options);
  };
  for (const [n, error] of errors.entries()) {
    const [id, at] = [run(n + 1), NOON + n];
    await here.runs.open(TEAM, { id, agent: `agent-${n}`, startedAt: at }, at);
    const output = rawOf({ error });
    await here.runs.finish(TEAM, id, { status: "failed", finishedAt: at, output }, at);
    await here.work();
  }
  const named = (await here.incidents()).map(({ error }) => error);
  assertEquals(named, errors.map((error) => error.slice(0, 200)));
  assertEquals(readRuns, [1, 3]);
});
