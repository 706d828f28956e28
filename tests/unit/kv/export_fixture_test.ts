/** An export that an earlier version wrote: every later version imports it (R21). */
import { assert, assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openStore } from "../../../kv/open.ts";
import { exportLines } from "../../../kv/transfer/export.ts";
import { importLines } from "../../../kv/transfer/import.ts";
import { fillWorld, openWorld, readWorld } from "../../support/builders/whole_world.ts";

const FOLDER = new URL("../../support/fixtures/", import.meta.url);
const EXPORT = new URL("export-1.ndjson", FOLDER);
const READS = new URL("export-1.reads.ndjson", FOLDER);

/** Answers that no version may change: money, usage and what was audited. */
const KEPT = /spend|usage|\/cost$|audit/;

interface Reads {
  /** Key of the second team. */
  readonly other: string;
  readonly answers: Readonly<Record<string, unknown>>;
}

/** Writes both files, once for each number of the export's format. */
async function record(): Promise<void> {
  await using h = await openWorld();
  const other = await fillWorld(h);
  const all = Object.entries(await readWorld(h, other)).filter(([path]) => KEPT.test(path));
  const answers = Object.fromEntries(all.map(([path, text]) => [path, JSON.parse(String(text))]));
  const lines = await Array.fromAsync(exportLines(h.store));
  await Deno.writeTextFile(EXPORT, `${lines.join("\n")}\n`, { createNew: true });
  await Deno.writeTextFile(READS, `${JSON.stringify({ other, answers })}\n`);
}

/** Checks that an answer still has all that was recorded; it may have more. */
function assertKept(actual: unknown, recorded: unknown, path: string): void {
  if (!(recorded instanceof Object)) return assertEquals(actual, recorded, path);
  assert(actual instanceof Object, path);
  if (Array.isArray(recorded)) assertEquals((actual as unknown[]).length, recorded.length, path);
  for (const [name, value] of Object.entries(recorded)) {
    assertKept((actual as Record<string, unknown>)[name], value, `${path} ${name}`);
  }
}

async function* lines(): AsyncGenerator<string> {
  yield* (await Deno.readTextFile(EXPORT)).trimEnd().split("\n");
}

Deno.test("export: the file of an earlier version is imported, and its numbers are the same", async () => {
  if (Deno.args.includes("--record")) await record();
  const { other, answers }: Reads = JSON.parse(await Deno.readTextFile(READS));
  await using h = await openWorld();
  await h.restart(async () => {
    for (const end of ["", "-wal", "-shm"]) await Deno.remove(h.path + end).catch(() => {});
    const store = await openStore(h.path, new Memory());
    const { runs, events, pending } = await importLines(store, lines());
    assertEquals([runs, events, pending], [18, 14, 0]);
    assertEquals((await verifyStore(store)).differences, []);
    await store.close();
  });
  const actual = await readWorld(h, other);
  for (const [path, answer] of Object.entries(answers)) {
    assertKept(JSON.parse(String(actual[path])), answer, path);
  }
});
