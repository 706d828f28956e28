/** Faults of the worker's jobs: interrupted, malformed or impossible ones. */
import { assert, assertEquals } from "@std/assert";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import { isDead, type RunFailure } from "../../../domain/runs/stages.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { OpenStore } from "../../../kv/open.ts";
import { runId } from "../../support/builders/requests.ts";
import { Load } from "../../support/harness/load.ts";
import { Process } from "../../support/harness/process.ts";
import { withFolder, withStore } from "../../support/harness/temp_store.ts";
import { assertExact, noPendingWork, verify } from "./verify.ts";
import { accessTo, number, settingsIn } from "./fault.ts";

/** A run whose opening cannot be read. */
const POISONED = runId(0xbad) as RunId;

/** Malformed work rows, or rows for missing objects; they sort before every real row. */
const RUBBISH: readonly unknown[] = [
  "",
  "rubbish",
  "\n \n\n",
  "no-such-team " + runId(1),
  `${"t".repeat(3_000)} ${runId(1)}`,
  `team ${"r".repeat(3_000)}`,
  7,
  null,
  new Uint8Array([1, 2, 3]),
  { run: runId(1) },
];

/** Calls before the first kill, which leave work in the queue. */
const CALLS = 400;

/** Kills a process at work, adds malformed rows, kills the next one, and lets the third finish. */
export async function jobsTwiceAndPoisoned(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    const load = new Load(1_000_000);
    {
      await using process = await Process.start(settings);
      const running = load.run(accessTo(process));
      await load.reached(CALLS);
      await process.stop("SIGKILL");
      await running;
    }
    await withStore(path, poison);
    {
      await using process = await Process.start(settings);
      await process.logs(/Cannot summarize|resumes after a pause/);
      await process.stop("SIGKILL");
    }
    await using process = await Process.start(settings);
    const final = await load.untilFinal(accessTo(process));
    await noPendingWork(path);
    const { code, stdout } = await process.stop();
    assertEquals(code, 0);
    assert(!stdout.includes("resumes after a pause"), stdout);
    const tries = await withStore(path, removePoison);
    await verify(path, [load]);
    await assertExact(path);
    return `${number(final)} runs final, despite ` +
      `${RUBBISH.length} malformed rows and a run that failed alone (${tries}), ` +
      "through two kill -9, exact";
  });
}

async function poison(store: OpenStore, team: TeamId): Promise<void> {
  const rubbish = RUBBISH.map((value, n) => ({
    key: keys.pending("closed", String(n).padStart(26, "0")),
    value,
  }));
  await store.writer.commit({
    sets: [...rubbish, { key: keys.opening(team, POISONED), value: new Uint8Array([9, 9, 9]) }],
    pending: [{ lane: "closed", name: `${team} ${POISONED}` }],
  });
}

/** Removes the poisoned run so that the other runs can be verified; returns its last state. */
async function removePoison(store: OpenStore, team: TeamId): Promise<string> {
  const { key, value } = await store.reader.get<RunFailure>(keys.runFailure(team, POISONED));
  assert(value?.work === "cost" && value.tries > 0, "the poisoned run was never attempted");
  const deletes: Deno.KvKey[] = [key];
  for (const prefix of [keys.run(team, POISONED), keys.work("run")]) {
    for await (const { key } of store.reader.list({ prefix })) {
      if (key.includes(POISONED)) deletes.push(key);
    }
  }
  await store.writer.commit({ deletes });
  return `${isDead(value) ? "dead" : "retrying"} after ${value.tries} attempts`;
}
