/** Exports: a ledger moves to another store and answers the same there (R21). */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { KINDS_AFTER_RUNS, KINDS_BEFORE_RUNS } from "../../../domain/core/export_format.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openStore } from "../../../kv/open.ts";
import { StoreRefused } from "../../../kv/refused.ts";
import type { Store } from "../../../kv/store.ts";
import { exportLines, TransferFailed } from "../../../kv/transfer/export.ts";
import { importLines } from "../../../kv/transfer/import.ts";
import { fromJson, toJson, UNLISTED } from "../../../kv/transfer/export_rows.ts";
import { runExport } from "../../../tools/export.ts";
import { runImport } from "../../../tools/import.ts";
import { fillWorld, openWorld, readWorld } from "../../support/builders/whole_world.ts";
import { aCall } from "../../support/builders/ledger_of_everything.ts";
import { anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { inFolder, withFolder } from "../../support/harness/temp_store.ts";
import { Recorder } from "../../support/harness/tools.ts";
import fc from "fast-check";
import { anyText } from "../../support/builders/any_text.ts";

async function run(tool: typeof runExport, ...args: string[]): Promise<Recorder> {
  const io = new Recorder();
  const code = await asKvClient(() => tool(args, io));
  assertEquals([code, io.failures], [0, []]);
  return io;
}

async function idsOf(store: Store, family: string): Promise<Deno.KvKey[]> {
  return await Array.fromAsync(store.reader.list({ prefix: [family] }), ({ key }) => key);
}

/** Compares answers by path. */
function assertSame(after: Record<string, unknown>, before: Record<string, unknown>): void {
  assertEquals(Object.keys(after), Object.keys(before));
  for (const [path, answer] of Object.entries(before)) assertEquals(after[path], answer, path);
}

/** Checks that every total of a store is exact. */
async function assertExact(store: Store): Promise<void> {
  const { differences, teams } = await verifyStore(store);
  assertEquals(differences, []);
  assert(teams.every(({ state }) => state === "exact"));
}

Deno.test("export: each family of keys has lines, is derived, or is left out", async () => {
  const source = await Deno.readTextFile(new URL("../../../kv/base/keys.ts", import.meta.url));
  const families = [...source.matchAll(/\[\s*"(\w+)"/g)];
  const known = new Set<unknown>([...KINDS_BEFORE_RUNS, ...KINDS_AFTER_RUNS, ...UNLISTED]);
  assert(families.length > 50);
  assertEquals(
    [...new Set(families.map(([, name]) => name))].filter((name) => !known.has(name)),
    [],
  );
});

KvServer.test(
  "export and import: to a shared KV and back to a file, all reads stay the same, digit for digit",
  async (server, t) => {
    await using h = await openWorld();
    const other = await fillWorld(h);
    const before = await readWorld(h, other);
    const messages = await idsOf(h.store, "delivery");
    const incidents = await idsOf(h.store, "incident");
    assert(incidents.length > 0 && messages.length > 0);
    await assertExact(h.store);
    await using folder = await tempFolder();
    const file = (name: string) => `${folder.path}/${name}`;
    await h.restart(async () => {
      await run(runExport, file("first"), `--kv=${h.path}`);
      const io = await run(runImport, file("first"), `--kv=${server.url("moved")}`);
      assertStringIncludes(io.lines.join("\n"), "runs and");
      await run(runExport, file("second"), `--kv=${server.url("moved")}`);
      for (const end of ["", "-wal", "-shm"]) await Deno.remove(h.path + end).catch(() => {});
      await run(runImport, file("second"), `--kv=${h.path}`);
      assertEquals((await Deno.stat(file("first"))).mode! & 0o777, 0o600);
    });
    await t.step("every answer is the same", async () => {
      assertSame(await readWorld(h, other), before);
    });
    await t.step("verify finds no difference", () => assertExact(h.store));
    await t.step(
      "an import opens no incident, sends no message and judges nothing again",
      async () => {
        await h.worker.idle();
        await h.work.idle();
        await h.worker.idle();
        assertEquals(await idsOf(h.store, "delivery"), messages);
        assertEquals(await idsOf(h.store, "incident"), incidents);
        assertSame(await readWorld(h, other), before);
      },
    );
    await t.step(
      "a retry of events counts none, whether their run still has them or not",
      async () => {
        for (const n of [2, 3]) {
          const again = [aCall(100 * n + 1, "atlas"), anEvent(100 * n + 11)];
          const answer = await h.post(`/v1/runs/${runId(n)}/events`, { events: again }, {
            key: other,
          });
          assertEquals([answer.json.accepted, answer.json.duplicates], [0, 2]);
        }
        const deleted = await h.post("/v1/runs", aRun(4), { key: other });
        assertEquals(deleted.status, 409, deleted.text);
      },
    );
  },
);

async function tempFolder() {
  const path = await Deno.makeTempDir({ prefix: "runledger-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("import: refuses what is not empty, incomplete, damaged or of a later version", async (t) => {
  await using h = await openWorld();
  await h.post("/v1/heartbeats", { agent: "a", status: "ok" });
  await h.worker.idle();
  const lines = await Array.fromAsync(exportLines(h.store));
  const refuses = (name: string, some: readonly string[]) =>
    t.step(name, () =>
      withFolder(async (folder) => {
        const path = `${folder}/to.kv`;
        const to = await openStore(path, new Memory());
        await assertRejects(() => importLines(to, asyncOf(some)), TransferFailed);
        await to.close();
        // A service does not start on a part of a ledger.
        const error = await assertRejects(() => openStore(path, new Memory()), StoreRefused);
        assertStringIncludes(error.message, "its import did not end");
      }));
  const last = lines.length - 1;
  await refuses("cut off", lines.slice(0, last));
  await refuses("damaged", lines.with(3, '{"broken'));
  await refuses("a line is missing", lines.toSpliced(3, 1));
  await refuses("no head", lines.slice(1));
  await refuses("lines after the end", [...lines, lines[2] ?? ""]);
  await refuses("a later format", lines.with(0, '{"kind":"export","export":2,"version":"9.0.0"}'));
  await refuses("an unknown kind", lines.with(2, '{"kind":"budget","key":[],"value":1}'));
  const isRun = (line: string) => line.startsWith('{"kind":"run"');
  const damage = (line: string) =>
    isRun(line) ? line.replace(/"revision":\d/, '"revision":"x"') : line;
  await refuses("a field of another type", lines.map(damage));
  await t.step("not empty", async () => {
    await assertRejects(() => importLines(h.store, asyncOf(lines)), TransferFailed, "not empty");
  });
});

inFolder.test("import: a file without lines does not fill the memory", async (folder) => {
  const chunk = new Uint8Array(1_000_000).fill(120);
  const text = ReadableStream.from(Array.from({ length: 40 }, () => chunk));
  const file = `${folder}/export`;
  await Deno.writeFile(file, text.pipeThrough(new CompressionStream("gzip")));
  const io = new Recorder();
  assertEquals(await runImport([file, `--kv=${folder}/to.kv`], io), 1);
  assertStringIncludes(io.failures.join(), "is damaged or no export");
});

KvServer.test("export: fails if a shared KV changes meanwhile, and on rows that it does not know", async (server) => {
  const store = await asKvClient(() => openStore(server.url(), new Memory()));
  await store.writer.commit({ sets: [{ key: ["team", "a"], value: 1 }] });
  const lines = exportLines(store);
  await lines.next();
  await store.writer.commit({ sets: [{ key: ["team", "b"], value: 1 }] });
  await assertRejects(() => Array.fromAsync(lines), TransferFailed, "changed");
  await store.writer.commit({ sets: [{ key: ["budget", "a"], value: 1 }] });
  await assertRejects(() => Array.fromAsync(exportLines(store)), TransferFailed, "budget");
  await store.close();
});

async function* asyncOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

Deno.test("values as JSON: every value comes back as it was", () => {
  const part = fc.oneof(
    anyText(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.bigInt(),
    fc.uint8Array(),
  );
  const tagged = fc.constantFrom("$bytes", "$int", "$sum", "$num", "$obj", "$");
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      part,
      fc.constantFrom(null, undefined, NaN, -0, Infinity),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), tagged), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  })).value;
  fc.assert(
    fc.property(value, (value) => {
      assertEquals(fromJson(JSON.parse(JSON.stringify(toJson(value)))), value);
    }),
    { numRuns: 40 },
  );
  const counter = new Deno.KvU64(2n ** 64n - 1n);
  assertEquals(fromJson(toJson(counter)), counter);
});
