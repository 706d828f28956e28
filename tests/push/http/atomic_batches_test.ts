/** Readers see all events of a batch or none, at every size (R36). */
import { assert, assertEquals } from "@std/assert";
import { aLargeBatch } from "../../support/builders/large_batches.ts";
import { aRun, runId } from "../../support/builders/requests.ts";
import { enterprise, Harness } from "../../support/harness/harness.ts";

const MIB = 1_048_576;

/** Reads the ids of all events of a run: its state at the first page, or a later one. */
async function readIds(h: Harness, path: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = "";;) {
    const { status, json } = await h.get(`${path}?events_limit=1000${cursor}`);
    assertEquals(status, 200);
    ids.push(...json.events.map(({ id }: { id: string }) => id));
    if (json.events_cursor === null) return ids;
    cursor = `&events_cursor=${json.events_cursor}`;
  }
}

/** Calls `read` again and again until `work` has ended, and once more; returns the results. */
async function readDuring<T>(work: Promise<unknown>, read: () => Promise<T>): Promise<T[]> {
  let isOver = false;
  const ended = work.finally(() => isOver = true);
  const results: T[] = [];
  while (!isOver) results.push(await read());
  await ended;
  return [...results, await read()];
}

enterprise.test("R36: beside a batch of 1 to 12 MiB readers see all of its events or none", async (h) => {
  for (const [n, [count, bytes]] of [[20, MIB], [50, 3 * MIB], [50, 12 * MIB]].entries()) {
    assert(count !== undefined && bytes !== undefined);
    const path = `/v1/runs/${runId(n)}`;
    assertEquals((await h.post("/v1/runs", aRun(n))).status, 202);
    const { body, ids } = aLargeBatch(100 * n, count, bytes);
    const sent = h.post(`${path}/events`, body);
    const [counts, pages] = await Promise.all([
      readDuring(sent, async () => (await h.get(`${path}?events_limit=1`)).json.usage.events),
      readDuring(sent, () => readIds(h, path)),
    ]);
    const answer = await sent;
    assertEquals([answer.status, answer.json], [202, { accepted: count, duplicates: 0 }]);
    // A small batch may be stored during the first read.
    const readsMin = bytes < 12 * MIB ? 1 : 4;
    assert(Math.min(counts.length, pages.length) > readsMin, `${counts.length}, ${pages.length}`);
    assertEquals(new Set(counts), new Set([0, count]), `${bytes} bytes`);
    assertEquals(new Set(pages.map((page) => page.join())), new Set(["", ids.join()]));
    const again = await h.post(`${path}/events`, body);
    assertEquals(again.json, { accepted: 0, duplicates: count });
  }
});
