/** Tests that kill -9 while runs are judged leaves each with its results, counted once. */
import { assert, assertEquals } from "@std/assert";
import { assertJudged, callsOfRun, JUDGING } from "../../support/builders/judged_runs.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder, withStore } from "../../support/harness/temp_store.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";

const KEY = `apk_eu_${"c7".repeat(16)}`;

const RUNS_PER_ROUND = 40;

/** Milliseconds between the last answer and the kill, by round: at different moments of the work. */
const KILLED_AFTER_MS = [0, 20, 80] as const;

async function send({ url }: Process, method: string, path: string, body?: unknown) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${KEY}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert(response.ok, `${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

inFolder.test("checks: after kill -9 while runs are judged, each has its results, counted once", async (folder) => {
  const settings = {
    RUNLEDGER_KV: `${folder}/test.kv`,
    RUNLEDGER_KEY: KEY,
    RUNLEDGER_TIER: "enterprise",
  };
  let runs = 0;
  for (const ms of KILLED_AFTER_MS) {
    await using process = await Process.start(settings);
    if (runs === 0) {
      for (const [slug, { expression }] of Object.entries(JUDGING)) {
        await send(process, "PUT", `/v1/checks/${slug}`, { expression });
      }
    }
    const numbers = Array.from({ length: RUNS_PER_ROUND }, () => runs++);
    await Promise.all(numbers.map(async (n) => {
      for (const [path, body] of callsOfRun(n)) await send(process, "POST", path, body);
    }));
    await new Promise((resolve) => setTimeout(resolve, ms));
    assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
  }
  await using process = await Process.start(settings);
  await assertJudged(runs, (path) => send(process, "GET", path));
  assertEquals((await process.stop()).code, 0);
  await withStore(settings.RUNLEDGER_KV, (store) => assertClean(store));
});
