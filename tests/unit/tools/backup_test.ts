/** `deno task backup` and `deno task restore`; the fault tests cover a running process. */
import { Memory } from "../../../runtime/memory.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { backUp, CopyFailed } from "../../../kv/backup.ts";
import { keys, LEDGER_FORMAT } from "../../../kv/base/keys.ts";
import { openStore } from "../../../kv/open.ts";
import { backup } from "../../../tools/backup.ts";
import { runRestore } from "../../../tools/restore.ts";
import { Harness } from "../../support/harness/harness.ts";
import { inFolder, MIDDLE, withFolder } from "../../support/harness/temp_store.ts";
import { Recorder } from "../../support/harness/tools.ts";

const KEY = ["value"];

async function run(tool: typeof backup, ...args: string[]) {
  const io = new Recorder();
  const code = await tool(args, io);
  return { code, text: io.lines.join("\n"), failure: io.failures.join("\n") };
}

/** Creates a closed ledger that has a value and several pages. */
async function aLedger(
  path: string,
  value: string,
  { format = LEDGER_FORMAT, fillers = 10 } = {},
): Promise<void> {
  const store = await openStore(path, new Memory());
  await store.writer.commit({
    sets: [{ key: keys.format(), value: { format, version: "7.8.9" } }, { key: KEY, value }],
  });
  for (let n = 0; n < fillers; n++) {
    const filler = new Uint8Array(60_000).fill(n);
    await store.writer.commit({ sets: [{ key: ["filler", n], value: filler }] });
  }
  await store.close();
}

async function valueIn(path: string): Promise<unknown> {
  const store = await openStore(path, new Memory());
  const { value } = await store.reader.get(KEY);
  await store.close();
  return value;
}

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Harness.test("backup: one intact file that only its owner may read, including the commit log", async (h) => {
  await h.store.writer.commit({ sets: [{ key: KEY, value: "only in the log" }] });
  await withFolder(async (folder) => {
    const file = `${folder}/backup.kv`;
    const { code, text } = await run(backup, file, `--kv=${h.path}`);
    assertEquals(code, 0);
    assertStringIncludes(text, `${file} is a sound copy of ${h.path}`);
    const { size, mode } = await Deno.stat(file);
    assertStringIncludes(text, `${size.toLocaleString("en")} bytes in `);
    assertEquals([(mode ?? 0) & 0o777, namesIn(folder)], [0o600, ["backup.kv"]]);
    assertEquals(await valueIn(file), "only in the log");
  });
});

inFolder.test("backup: an existing file is never overwritten", async (folder) => {
  await aLedger(`${folder}/ledger.kv`, "v");
  await Deno.writeTextFile(`${folder}/backup.kv`, "an older one");
  const { code, failure } = await run(backup, `${folder}/backup.kv`, `--kv=${folder}/ledger.kv`);
  assertEquals(code, 1);
  assertStringIncludes(failure, "already exists");
  assertEquals(await Deno.readTextFile(`${folder}/backup.kv`), "an older one");
});

inFolder.test("backup: a damaged ledger, or a file that is not a ledger, leaves no backup", async (folder) => {
  const path = `${folder}/ledger.kv`;
  await aLedger(path, "v");
  const bytes = await Deno.readFile(path);
  await Deno.writeFile(path, bytes.fill(0xff, MIDDLE.from, MIDDLE.to));
  const damaged = await run(backup, `${folder}/backup.kv`, `--kv=${path}`);
  assertEquals(damaged.code, 1);
  assertStringIncludes(damaged.failure, "damaged");
  using database = new DatabaseSync(`${folder}/other.db`);
  database.exec("CREATE TABLE kv (k BLOB, v BLOB)");
  const other = await run(backup, `${folder}/backup.kv`, `--kv=${folder}/other.db`);
  assertEquals(other.code, 1);
  assertStringIncludes(other.failure, "not a ledger of this service");
  const missing = await run(backup, `${folder}/backup.kv`, `--kv=${folder}/missing.kv`);
  assertEquals(missing.code, 3);
  const shared = await run(backup, `${folder}/backup.kv`, "--kv=https://kv.example");
  assertEquals(shared.code, 3);
  assertEquals(namesIn(folder).filter((name) => name.includes("backup")), []);
});

inFolder.test("backup: a cancelled backup leaves no files, whether copying or checking", async (folder) => {
  await aLedger(`${folder}/ledger.kv`, "v", { fillers: 150 });
  // Repeated, because the check may be at any point when it is cancelled.
  const checks = Array.from({ length: 10 }, () => "onCopied" as const);
  for (const moment of ["onPages", ...checks] as const) {
    const stopping = new AbortController();
    const watch = { signal: stopping.signal, [moment]: () => stopping.abort() };
    await assertRejects(
      () => backUp(`${folder}/ledger.kv`, `${folder}/backup.kv`, watch),
      CopyFailed,
      "cancelled",
    );
    assertEquals(namesIn(folder).filter((name) => name.includes("backup")), [], moment);
  }
});

inFolder.test("restore: the backup replaces the ledger, and the previous files are moved aside and kept", async (folder) => {
  const path = `${folder}/ledger.kv`;
  await aLedger(path, "of the backup");
  assertEquals((await run(backup, `${folder}/backup.kv`, `--kv=${path}`)).code, 0);
  await Deno.remove(path);
  await aLedger(path, "of later");
  const { code, text } = await run(runRestore, `${folder}/backup.kv`, `--kv=${path}`);
  assertEquals(code, 0);
  const [, moved = ""] = /moved the previous file to (\S+)/.exec(text) ?? [];
  assert(moved.startsWith(`${path}.before-restore-`), text);
  assertEquals([await valueIn(path), await valueIn(moved)], ["of the backup", "of later"]);
  assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
});

inFolder.test("restore: a folder without a ledger gets one", async (folder) => {
  await aLedger(`${folder}/backup.kv`, "v");
  const path = `${folder}/new/ledger.kv`;
  assertEquals((await run(runRestore, `${folder}/backup.kv`, `--kv=${path}`)).code, 3);
  await Deno.mkdir(`${folder}/new`);
  assertEquals((await run(runRestore, `${folder}/backup.kv`, `--kv=${path}`)).code, 0);
  assertEquals(await valueIn(path), "v");
});

Harness.test("restore: refused while a service uses the ledger, which stays unchanged", async (h) => {
  await withFolder(async (folder) => {
    await aLedger(`${folder}/backup.kv`, "v");
    const { code, failure } = await run(runRestore, `${folder}/backup.kv`, `--kv=${h.path}`);
    assertEquals(code, 3);
    assertStringIncludes(failure, `in use by process ${Deno.pid}`);
    assert(await h.store.writer.commit({ sets: [{ key: KEY, value: 1 }] }) !== null);
  });
});

inFolder.test("restore: refused while another program has the ledger's file open", async (folder) => {
  const path = `${folder}/ledger.kv`;
  await aLedger(`${folder}/backup.kv`, "v");
  await aLedger(path, "stays");
  // A server of a shared KV opens its file so, without the lock of this service.
  using kv = await Deno.openKv(path);
  await kv.set(KEY, "in its log");
  const names = () => namesIn(folder).filter((name) => name.startsWith("ledger"));
  const before = names();
  const { code, failure } = await run(runRestore, `${folder}/backup.kv`, `--kv=${path}`);
  assertEquals([code, failure], [3, `${path} is in use by another program: stop it`]);
  assertEquals(names(), before);
  await kv.set(KEY, "and later");
  kv.close();
  assertEquals(await valueIn(path), "and later");
});

inFolder.test("restore: the files of a killed process are moved with all their bytes", async (folder) => {
  const path = `${folder}/ledger.kv`;
  await aLedger(`${folder}/backup.kv`, "v");
  await aLedger(`${folder}/running.kv`, "in the file");
  {
    using kv = await Deno.openKv(`${folder}/running.kv`);
    await kv.set(KEY, "in the log");
    for (const suffix of ["", "-wal"]) {
      await Deno.copyFile(`${folder}/running.kv${suffix}`, path + suffix);
    }
  }
  const bytes = (file: string) =>
    Promise.all(["", "-wal"].map((suffix) => Deno.readFile(file + suffix)));
  const before = await bytes(path);
  const { code, text } = await run(runRestore, `${folder}/backup.kv`, `--kv=${path}`);
  assertEquals(code, 0);
  const [, moved = ""] = /moved the previous file to (\S+)/.exec(text) ?? [];
  assertEquals(await bytes(moved), before);
  assertEquals([await valueIn(path), await valueIn(moved)], ["v", "in the log"]);
});

inFolder.test("restore: a damaged, newer or missing backup changes nothing", async (folder) => {
  const path = `${folder}/ledger.kv`;
  await aLedger(path, "stays");
  const before = namesIn(folder);
  await withFolder(async (elsewhere) => {
    const file = `${elsewhere}/backup.kv`;
    const missing = await run(runRestore, file, `--kv=${path}`);
    await aLedger(file, "v", { format: LEDGER_FORMAT + 1 });
    const newer = await run(runRestore, file, `--kv=${path}`);
    const bytes = await Deno.readFile(file);
    await Deno.writeFile(file, bytes.fill(0xff, MIDDLE.from, MIDDLE.to));
    const damaged = await run(runRestore, file, `--kv=${path}`);
    assertEquals([missing.code, newer.code, damaged.code], [1, 3, 1]);
    assertStringIncludes(missing.failure, "There is no backup");
    assertStringIncludes(newer.failure, `format ${LEDGER_FORMAT + 1}, written by version 7.8.9`);
    assertStringIncludes(damaged.failure, "damaged");
  });
  assertEquals(namesIn(folder), before);
  assertEquals(await valueIn(path), "stays");
});

inFolder.test("backup and restore: the key of sealed secrets is copied with the ledger, and replaced ones are kept", async (folder) => {
  const [ledger, copy] = [`${folder}/ledger.kv`, `${folder}/backup.kv`];
  await aLedger(ledger, "sealed", { fillers: 1 });
  await Deno.writeTextFile(`${ledger}.seal`, "key one");
  const { code, text } = await run(backup, copy, `--kv=${ledger}`);
  assertEquals(code, 0);
  assertStringIncludes(text, `${copy}.seal is the key of its channels' secrets: keep both`);
  assertEquals(await Deno.readTextFile(`${copy}.seal`), "key one");
  assertEquals(((await Deno.stat(`${copy}.seal`)).mode ?? 0) & 0o777, 0o600);
  await Deno.writeTextFile(`${ledger}.seal`, "key two");
  const restored = await run(runRestore, copy, `--kv=${ledger}`);
  assertEquals(restored.code, 0);
  assertEquals(await Deno.readTextFile(`${ledger}.seal`), "key one");
  const [, aside = ""] = /to (\S+\.seal\.before-restore-\S+)/.exec(restored.text) ?? [];
  assertEquals(await Deno.readTextFile(aside), "key two");
  await Deno.remove(`${copy}.seal`);
  assertEquals((await run(runRestore, copy, `--kv=${ledger}`)).code, 0);
  assertEquals(await Deno.readTextFile(`${ledger}.seal`), "key one", "it may be needed");
});
