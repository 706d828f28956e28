/** `deno task export` and `import`: a ledger moves between a file and a shared KV, and back. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { Memory } from "../../../domain/core/memory.ts";
import { parseRow, rowText } from "../../../kv/base/row_text.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openStore } from "../../../kv/open.ts";
import { StoreRefused } from "../../../kv/refused.ts";
import { exportLines, importLines, TransferFailed } from "../../../kv/transfer.ts";
import { runExport } from "../../../tools/export.ts";
import { runImport } from "../../../tools/import.ts";
import { aFinish, aHeartbeat, aRun, events, runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";
import { asKvClient } from "../../support/harness/kv_client.ts";
import { KvServer } from "../../support/harness/kv_server.ts";
import { noise, TempStore, withFolder } from "../../support/harness/temp_store.ts";
import { Recorder } from "../../support/harness/tools.ts";

/** Stores runs of all shapes in a ledger, and returns its file. */
async function fill(h: Harness): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await h.post("/v1/runs", aRun(n, { customer_id: `customer ${n % 3}` }));
    await h.post(`/v1/runs/${runId(n)}/events`, { events: events(10 * n, 10 * n + 9) });
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ output: { text: noise(9_000, n) } }));
    await h.post("/v1/heartbeats", aHeartbeat(100 + n, { cost_usd: 0.1 }));
  }
  // More than one row holds.
  const data = { text: noise(200_000) };
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [{ ...events(900, 900)[0], data }] });
  await h.worker.idle();
}

async function linesOf(location: string): Promise<string[]> {
  const store = await asKvClient(() => openStore(location, new Memory()));
  try {
    const { differences, runs } = await verifyStore(store);
    assertEquals([differences, runs], [[], 40]);
    return await Array.fromAsync(exportLines(store));
  } finally {
    await store.close();
  }
}

Deno.test("export and import: a ledger moves to a shared KV and back, and stays the same", async () => {
  await using server = await KvServer.start();
  await using h = await Harness.open();
  await fill(h);
  await h.restart(() =>
    withFolder(async (folder) => {
      const run = async (tool: typeof runExport, file: string, kv: string) => {
        const io = new Recorder();
        const code = await asKvClient(() => tool([`${folder}/${file}`, `--kv=${kv}`], io));
        assertEquals([code, io.failures], [0, []]);
      };
      const [shared, back] = [server.url("moved"), `${folder}/back.kv`];
      await run(runExport, "first", h.path);
      await run(runImport, "first", shared);
      await run(runExport, "second", shared);
      await run(runImport, "second", back);
      const lines = await linesOf(h.path);
      assert(lines.length > 100);
      assertEquals(await linesOf(shared), lines);
      assertEquals(await linesOf(back), lines);
      assertEquals((await Deno.stat(`${folder}/first`)).mode! & 0o777, 0o600);
    })
  );
});

Deno.test("import: refuses a store that is not empty, an export that was cut off, and damage", async () => {
  await using from = await TempStore.open();
  const sets = Array.from({ length: 1_200 }, (_, n) => ({ key: ["row", n], value: n }));
  await from.store.writer.commit({ sets: [{ key: ["format"], value: 1 }] });
  for (let at = 0; at < sets.length; at += 400) {
    await from.store.writer.commit({ sets: sets.slice(at, at + 400) });
  }
  const lines = await Array.fromAsync(exportLines(from.store));
  const refuses = (some: readonly string[]) =>
    withFolder(async (folder) => {
      const path = `${folder}/to.kv`;
      const to = await openStore(path, new Memory());
      await assertRejects(() => importLines(to, asyncOf(some)), TransferFailed);
      await to.close();
      // A service does not start on a part of a ledger.
      const error = await assertRejects(() => openStore(path, new Memory()), StoreRefused);
      assertStringIncludes(error.message, "its import did not end");
    });
  await refuses(lines.slice(0, 700));
  await refuses([...lines.slice(0, 700), '["broken']);
  await refuses([...lines.slice(0, 700), ...lines.slice(701)]);
  await refuses(lines.filter((line) => !line.includes("format")));
  await assertRejects(() => importLines(from.store, asyncOf(lines)), TransferFailed, "not empty");
});

Deno.test("import: a file without lines does not fill the memory", () =>
  withFolder(async (folder) => {
    const text = new Blob(["x".repeat(5_000_000)]).stream();
    const file = `${folder}/export`;
    await Deno.writeFile(file, text.pipeThrough(new CompressionStream("gzip")));
    const io = new Recorder();
    assertEquals(await runImport([file, `--kv=${folder}/to.kv`], io), 1);
    assertStringIncludes(io.failures.join(), "is damaged or no export");
  }));

Deno.test("export: fails if a shared KV changes meanwhile", async () => {
  await using server = await KvServer.start();
  const store = await asKvClient(() => openStore(server.url(), new Memory()));
  await store.writer.commit({ sets: [{ key: ["a"], value: 1 }] });
  const lines = exportLines(store);
  await lines.next();
  await store.writer.commit({ sets: [{ key: ["b"], value: 1 }] });
  await assertRejects(() => Array.fromAsync(lines), TransferFailed, "changed");
  await store.close();
});

async function* asyncOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

Deno.test("rows as text: every value comes back as it was", () => {
  const part = fc.oneof(
    fc.string({ unit: "binary" }),
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
  fc.assert(fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), value, (key, value) => {
    const row = { key: key as Deno.KvKeyPart[], value };
    const text = rowText(row);
    assert(!text.includes("\n"));
    assertEquals(parseRow(text), row);
  }));
  const counter = { key: ["n"], value: new Deno.KvU64(2n ** 64n - 1n) };
  assertEquals(parseRow(rowText(counter)), counter);
});
