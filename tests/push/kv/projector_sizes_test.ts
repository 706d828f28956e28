/** Summaries and roll-ups at maximum size: names, models and rows of one commit. */
import { assert, assertEquals } from "@std/assert";
import { AGENT_CHARS_MAX, LABEL_CHARS_MAX, RUN_MODELS_MAX } from "../../../domain/core/limits.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aCall,
  assertSumsAddUp,
  finish,
  open,
  processingStoreOf,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** A name of maximum length whose characters each take the most bytes. */
function longest(character: string, chars: number, n = 0): string {
  const end = String(n).padStart(3, "0");
  return character.repeat(chars - end.length) + end;
}

for (
  const [what, character] of [["four bytes", "\u{1f600}"], ["six in JSON", "\u0001"]] as const
) {
  TempStore.test(`roll-ups: names of maximum length, ${what} per character, are aggregated`, async ({ store }) => {
    const runs = runsOf(store);
    const long = (n: number) => longest(character, LABEL_CHARS_MAX, n);
    const count = 20;
    for (let n = 0; n < count; n++) {
      // An agent's slug has no control characters.
      const agent = longest("\u{1f600}", AGENT_CHARS_MAX, n);
      await open(runs, n, { agent, customerId: long(n), feature: long(n + 50) });
      const events = Array.from(
        { length: RUN_MODELS_MAX + 2 },
        (_, i) => aCall(i + 1, long(100 * n + i), long(i)),
      );
      await runs.append(TEAM, run(n), events, NOON);
    }
    // All together, so that they must be split into commits.
    const all = Array.from({ length: count }, (_, n) => run(n));
    await processingStoreOf(store).project(TEAM.id, all);
    for (let n = 0; n < count; n++) await finish(runs, n);
    await processingStoreOf(store).project(TEAM.id, all);
    assertEquals(await assertSumsAddUp(store), count);
  });
}

TempStore.test("roll-ups: names just short enough for keys are aggregated", async ({ store }) => {
  const runs = runsOf(store);
  const count = 20;
  for (let n = 0; n < count; n++) {
    await open(runs, n, { agent: longest("字", 30, n), customerId: longest("字", 30, n) });
    const events = Array.from(
      { length: RUN_MODELS_MAX },
      (_, i) => aCall(i + 1, longest("字", 80, 100 * n + i)),
    );
    await runs.append(TEAM, run(n), events, NOON);
    await finish(runs, n);
  }
  await processingStoreOf(store).project(TEAM.id, Array.from({ length: count }, (_, n) => run(n)));
  assertEquals(await assertSumsAddUp(store), count);
});

TempStore.test("roll-ups: the runs of one team may need more rows than one commit holds", async (temp) => {
  const { store } = temp;
  const runs = runsOf(store);
  const count = 60;
  for (let n = 0; n < count; n++) {
    await open(runs, n, { agent: `agent-${n}`, customerId: `customer-${n}`, feature: `f-${n}` });
    const events = Array.from({ length: 10 }, (_, i) => aCall(i + 1, `model-${n}-${i}`));
    await runs.append(TEAM, run(n), events, NOON);
    await finish(runs, n);
  }
  await processingStoreOf(store).project(TEAM.id, Array.from({ length: count }, (_, n) => run(n)));
  const rows = await temp.keysBelow(["rollup", TEAM.id]);
  assert(rows.length > BACK_ENDS.embedded.mutations, `only ${rows.length} rows`);
  assertEquals(await assertSumsAddUp(store), count);
});

TempStore.test("roll-ups: a team whose runs need many rows does not split the commits of another", async ({ store }) => {
  const runs = runsOf(store);
  const pipeline = processingStoreOf(store);
  const other: Team = { ...TEAM, id: "other" as Team["id"] };
  const wide = Array.from({ length: 60 }, (_, n) => run(n));
  const plain = Array.from({ length: 90 }, (_, n) => run(n));
  for (let n = 0; n < wide.length; n++) {
    await open(runs, n, { agent: `agent-${n}` });
    const events = Array.from({ length: 10 }, (_, i) => aCall(i + 1, `model-${n}-${i}`));
    await runs.append(TEAM, run(n), events, NOON);
  }
  await Promise.all(plain.map((_, n) => open(runs, n, {}, other)));
  const commitsOf = async (team: Team, ids: typeof plain) => {
    const { stored } = store.writer.metrics.commits;
    await pipeline.project(team.id, ids);
    return store.writer.metrics.commits.stored - stored;
  };
  assert(await commitsOf(TEAM, wide) > 1);
  assertEquals(await commitsOf(other, plain), 1);
});
