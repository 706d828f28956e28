/**
 * The writer alone: many callers, each with one open after the other; prints opens a second.
 *
 * Usage: writer.ts FILE CALLERS SECONDS
 */
import { Memory } from "../domain/core/memory.ts";
import { openStore } from "../kv/open.ts";
import { COUNTER, nextRecord } from "./records.ts";
import { print } from "./report.ts";

const WARM_UP_MS = 500;

const [file = ":memory:", callers = "64", seconds = "1"] = Deno.args;
const store = await openStore(file, new Memory());
const sums = [{ key: COUNTER, by: 1n }];
let written = 0;

async function writeFor(ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  await Promise.all(Array.from({ length: Number(callers) }, async () => {
    while (performance.now() < endMs) {
      const { key, value } = nextRecord();
      const checks = [{ key, versionstamp: null }];
      const version = await store.writer.commit({ checks, sums, sets: [{ key, value }] });
      if (version === null) throw new Error("A new key was taken");
      written++;
    }
  }));
}

await writeFor(WARM_UP_MS);
written = 0;
const startMs = performance.now();
await writeFor(Number(seconds) * 1000);
const rate = written * 1000 / (performance.now() - startMs);
await store.close();
print(JSON.stringify(rate));
