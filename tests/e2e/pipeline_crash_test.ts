/** What a killed process left undone the next one finishes by itself, and money adds up throughout. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../kv/open.ts";
import { Load, verify } from "../support/load.ts";
import { assertRollupsAddUp, assertSumsAddUp } from "../support/pipeline.ts";
import { Process, type Settings } from "../support/process.ts";
import { withFolder } from "../support/temp_store.ts";

const KEY = `apk_eu_${"e6".repeat(16)}`;

/** What the worker may take for what a killed process left; far more than it does. */
const MARKS_MS_MAX = 10_000;

/** Acknowledged calls of each round before the process is killed. */
const ROUNDS = [5, 260, 90, 400, 45, 180];

for (const queue of ["on", "off"]) {
  Deno.test(`pipeline: after kill -9 every acknowledged close becomes final, queue ${queue}`, async () => {
    await withFolder(async (folder) => {
      const path = `${folder}/test.kv`;
      const settings = { RUNLEDGER_KV: path, RUNLEDGER_KEY: KEY, RUNLEDGER_QUEUE: queue };
      const loads: Load[] = [];
      const rounds = queue === "on" ? ROUNDS : ROUNDS.slice(0, 2);
      let unfinished = 0;
      for (const [round, acknowledged] of rounds.entries()) {
        const load = new Load(KEY, round * 1_000_000);
        loads.push(load);
        await killUnderLoad(settings, loads, acknowledged);
        unfinished += await lookAt(path);
      }
      assert(unfinished > 0, "no kill found the worker with something left to do");
      await finishRest(settings, loads);
      await verify(path, loads);
      const store = await openStore(path);
      try {
        // Runs whose last call was never answered may be closed too.
        const closed = await assertSumsAddUp(store);
        assert(closed > 0);
        assertEquals(await Array.fromAsync(store.reader.list({ prefix: ["dirty"] })), []);
      } finally {
        await store.close();
      }
    });
  });
}

/** Lets a process finish what the earlier ones left, then kills it in the middle of the next load. */
async function killUnderLoad(
  settings: Settings,
  loads: readonly Load[],
  acknowledged: number,
): Promise<void> {
  await using process = await Process.start(settings);
  await loads.at(-2)?.settle(process.url);
  const load = loads.at(-1);
  const running = load?.run(process.url);
  await load?.reached(acknowledged);
  assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
  await running;
}

/** Starts a process only to finish what is left, without any call that writes. */
async function finishRest(settings: Settings, loads: readonly Load[]): Promise<void> {
  await using process = await Process.start(settings);
  for (const load of loads) await load.settle(process.url);
  // Open runs are summed up after closed ones, and no answer tells when.
  await noMarksLeft(settings.RUNLEDGER_KV ?? "");
  const { code, stdout } = await process.stop("SIGTERM");
  assertEquals(code, 0);
  assert(!stdout.includes('"failure"'), stdout);
}

/** Resolves once no mark is left in the file of a running process. */
async function noMarksLeft(path: string): Promise<void> {
  // The keys that begin with the text "dirty", as the store writes them.
  const count =
    "SELECT count(*) AS rows FROM kv WHERE k > x'02646972747900' AND k < x'02646972747901'";
  using database = new DatabaseSync(path, { readOnly: true });
  const statement = database.prepare(count);
  const startedMs = performance.now();
  while (statement.get()?.rows !== 0) {
    assert(performance.now() - startedMs < MARKS_MS_MAX, "marks are left");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Roll-ups add up at the very moment of the kill; answers how many rows of marks are left. */
async function lookAt(path: string): Promise<number> {
  const store = await openStore(path);
  try {
    await assertRollupsAddUp(store);
    return (await Array.fromAsync(store.reader.list({ prefix: ["dirty"] }))).length;
  } finally {
    await store.close();
  }
}
