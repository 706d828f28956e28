/** Commits of results: large ones, racing ones, and those of teams without checks. */
import { assert, assertEquals } from "@std/assert";
import { Memory } from "../../../../runtime/memory.ts";
import type { CheckResult } from "../../../../domain/runs/check_result.ts";
import { decodeResults, encodeResults } from "../../../../kv/base/codec_checks.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { readHeads } from "../../../../kv/runs/heads.ts";
import { type OpenStore, openStore } from "../../../../kv/open.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { asKvClient } from "../../../support/fakes/kv_client.ts";
import { KvServer } from "../../../support/fakes/kv_server.ts";
import { storeOver } from "../../../support/harness/stores.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { aCall, run, TEAM } from "../../../support/builders/stored_runs.ts";
import {
  aCheck,
  assertVerified,
  countsOf,
  failuresOf,
  outcomesOf,
  resultsOf,
} from "../../../support/builders/checks.ts";
import { replaced } from "../../../support/fakes/replaced.ts";

const DAY = "2026-11-21";

function aResult(n: number, text: string): CheckResult {
  const check = `check-${String(n).padStart(2, "0")}${"c".repeat(56)}`;
  return {
    check,
    id: `chk_eu_${"0".repeat(30)}${String(n).padStart(2, "0")}`,
    version: 1,
    severity: "fail",
    status: "fail",
    got: text,
    message: text,
    at: NOON,
    revision: 1,
  };
}

TempStore.test("results: 50 with the longest texts of any characters fit into one value", async (temp) => {
  const key = keys.checkResults(TEAM.id, run(1));
  for (const character of ["a", "字", "\u{1f600}", "\u0001", '"']) {
    const results = Array.from({ length: 50 }, (_, n) => aResult(n, character.repeat(200)));
    await temp.store.writer.commit({ sets: [{ key, value: encodeResults(results) }] });
    const stored = decodeResults((await temp.store.reader.get(key)).value);
    assertEquals(stored.length, 50);
    for (const [i, { got, message, ...rest }] of stored.entries()) {
      const { got: sent, message: _, ...expected } = results[i] as CheckResult;
      assertEquals(rest, expected);
      assertEquals(got, message);
      // A text is whole, or cut visibly.
      assert(
        got === sent || got !== null && got.endsWith("…") && sent?.startsWith(got.slice(0, -1)),
      );
    }
  }
});

TempStore.test("results: many runs with many results are split into commits, and all are counted", async ({ store }) => {
  const process = new AlertProcess(store);
  const runs = Array.from({ length: 40 }, (_, n) => n + 1);
  await process.put("check", "never", aCheck("true", { agents: ["other"] }));
  for (const n of runs) await process.close(n, "success");
  await process.work();
  const before = store.writer.metrics.commits.stored;
  const results = Array.from({ length: 50 }, (_, n) => aResult(n, "字".repeat(200)));
  await process.updater.change(TEAM.id, runs.map(run), (run) => ({
    run,
    before: run.summary,
    after: run.summary && { ...run.summary },
    judged: results,
    rows: { sets: [], deletes: [] },
  }));
  assert(store.writer.metrics.commits.stored - before > 3);
  for (const n of runs) assertEquals((await resultsOf(store, n)).length, 50);
  assertEquals(await failuresOf(store, results[0]?.id ?? ""), runs);
  await assertVerified(store);
});

/** The same reader, which notes the keys that are read. */
function noting(kv: Deno.Kv) {
  const read: string[] = [];
  const getMany = (wanted: Deno.KvKey[]) => {
    read.push(...wanted.map((key) => key.join(" ")));
    return kv.getMany(wanted);
  };
  return { reader: replaced(kv, { getMany }), read };
}

TempStore.test("results: a team without checks reads and writes nothing for them", async (temp) => {
  const { reader, read } = noting(temp.store.reader);
  const process = new AlertProcess({ ...temp.store, reader });
  for (const n of [1, 2, 3]) await process.close(n, n === 2 ? "failed" : "success");
  await process.work();
  await process.runs.append(TEAM, run(1), [aCall(4)], NOON + 9);
  await process.work();
  assertEquals(read.filter((key) => /check/.test(key)), []);
  const written = await temp.keysBelow([]);
  assertEquals(written.filter((key) => /check/.test(key.join(" "))), []);
});

TempStore.test("results: counts of a day are read once, and stay right after another process changed them", async (temp) => {
  const { reader: kv, limits, deadlines } = temp.store;
  const { reader, read } = noting(kv);
  const here = new AlertProcess(storeOver(kv, reader, limits, deadlines));
  const there = new AlertProcess(storeOver(kv, kv, limits, deadlines));
  await here.put("check", "good", aCheck('status == "success"'));
  const close = async (process: AlertProcess, n: number) => {
    await process.close(n, "success");
    await process.pipeline.project(TEAM.id, [run(n)]);
  };
  for (const n of [1, 2, 3]) await close(here, n);
  const ofDays = () => read.filter((key) => key.startsWith("check_stat"));
  assertEquals(ofDays().length, 2);
  await close(there, 4);
  await close(here, 5);
  assertEquals(await countsOf(temp.store), [
    `${DAY} * id_good: 5,0,0,0`,
    `${DAY} a id_good: 5,0,0,0`,
  ]);
  await assertVerified(temp.store);
});

KvServer.test("two processes that judge the same runs count each result once", async (server) => {
  const stores: OpenStore[] = [];
  try {
    for (let n = 0; n < 2; n++) {
      stores.push(await asKvClient(() => openStore(server.url(), new Memory())));
    }
    const [here, there] = stores.map((store) => new AlertProcess(store)) as [
      AlertProcess,
      AlertProcess,
    ];
    await here.put("check", "cheap", aCheck("cost_usd < 0.000000000010"));
    await here.put("check", "good", aCheck('status == "success"'));
    const numbers = Array.from({ length: 24 }, (_, i) => i + 1);
    for (const n of numbers) await here.close(n, n % 2 === 0 ? "failed" : "success");
    server.knobs.answer = () => server.counts.commits % 4 === 0 ? "lost" : "sent";
    const project = () =>
      Promise.all([here, there].map(({ pipeline }, at) => {
        const some = numbers.filter((n) => n % 3 !== at).map(run);
        return pipeline.project(TEAM.id, at === 0 ? some : some.reverse());
      }));
    await project();
    await here.runs.append(TEAM, run(2), [aCall(9)], NOON + 50);
    await project();
    server.knobs.answer = () => "sent";
    const { store } = here;
    assertEquals(await countsOf(store), [
      `${DAY} * id_cheap: 23,1,0,0`,
      `${DAY} * id_good: 12,12,0,0`,
      `${DAY} a id_cheap: 23,1,0,0`,
      `${DAY} a id_good: 12,12,0,0`,
    ]);
    assertEquals(await outcomesOf(store, 2), ["cheap fail", "good fail"]);
    assertEquals(await failuresOf(store, "id_cheap"), [2]);
    await here.work();
    await assertVerified(store);
  } finally {
    server.knobs.answer = () => "sent";
    await Promise.all(stores.map((store) => store.close()));
  }
});

TempStore.test("results: a run with a row of each kind is read whole", async ({ store }) => {
  const process = new AlertProcess(store);
  await process.close(1, "success");
  const more = ["idle", "ledger", "price"] as const;
  await store.writer.commit({
    sets: [
      ...more.map((part) => ({ key: keys[part](TEAM.id, run(1)), value: null })),
      { key: keys.runIncidents(TEAM.id, run(1)), value: [] },
      { key: keys.checkResults(TEAM.id, run(1)), value: encodeResults([]) },
      { key: keys.summary(TEAM.id, run(1)), value: null },
    ],
  });
  const [head] = await readHeads({ store, team: TEAM.id }, [run(1)]);
  assertEquals(head?.head.parts.opening?.agent, "a");
});
