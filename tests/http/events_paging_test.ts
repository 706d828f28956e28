/** Reading a run's events page by page: by `ts`, then arrival (decisions, section 6). */
import { assert, assertEquals } from "@std/assert";
import { anEvent, aRun, at, events, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

interface Sent {
  readonly id: string;
  readonly ts: string;
}

interface Page {
  readonly ids: string[];
  readonly cursor: string | null;
}

async function page(h: Harness, limit: number | null, cursor: string | null): Promise<Page> {
  const query = new URLSearchParams();
  if (limit !== null) query.set("events_limit", String(limit));
  if (cursor !== null) query.set("events_cursor", cursor);
  const { status, json } = await h.get(`${PATH}?${query}`);
  assertEquals(status, 200);
  return { ids: json.events.map(({ id }: Sent) => id), cursor: json.events_cursor };
}

/** Reads pages from a cursor to the end; each but the last must be full. */
async function pages(h: Harness, limit: number, from: string | null = null): Promise<string[][]> {
  const read: string[][] = [];
  let cursor = from;
  do {
    const next = await page(h, limit, cursor);
    assert(next.ids.length === limit || next.cursor === null, "a page in the middle is short");
    read.push(next.ids);
    cursor = next.cursor;
  } while (cursor !== null);
  return read;
}

/** Numbers from 0 to `count` in a deterministic pseudorandom order. */
function shuffled(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
    .map((n) => [Math.imul(n + 1, 0x9e3779b1) >>> 0, n] as const)
    .sort(([a], [b]) => a - b)
    .map(([, n]) => n);
}

/** Sends events in this order, in batches of varying size. */
async function sendInBatches(h: Harness, all: readonly Sent[]): Promise<number> {
  let batches = 0;
  for (let from = 0; from < all.length; batches++) {
    const size = 1 + (batches * 17) % 50;
    const answer = await h.post(`${PATH}/events`, { events: all.slice(from, from + size) });
    assertEquals(answer.status, 202);
    from += size;
    h.nowMs += 1;
  }
  return batches;
}

/** The expected order: by instant, and within one instant by arrival. */
function inOrder(sent: readonly Sent[]): string[] {
  return sent.map(({ id, ts }, i) => ({ id, ts, i }))
    .sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts) || a.i - b.i)
    .map(({ id }) => id);
}

Harness.test("section 6: 1,203 events sent out of order are read in order, whatever the page size", async (h) => {
  await h.post("/v1/runs", aRun(1));
  // Seven events share each instant, and batches overlap in time.
  const sentEvents = shuffled(1_203).map((n) => anEvent(n, { ts: at(Math.floor(n / 7) * 10) }));
  const batches = await sendInBatches(h, sentEvents);
  assert(batches > 40, "many batches, so that pages cut through them");
  const expected = inOrder(sentEvents);
  for (const restarted of [false, true]) {
    if (restarted) await h.restart();
    for (const limit of [1_000, 401, 97]) {
      const read = await pages(h, limit);
      assertEquals(read.flat(), expected, `${limit} a page`);
      assertEquals(read.length, Math.ceil(1_203 / limit));
    }
  }
  assertEquals((await h.get(PATH)).json.usage.events, 1_203);
});

Harness.test("section 6: a cursor keeps its position while events arrive before and after it", async (h) => {
  const original = shuffled(300).map((n) => anEvent(n, { ts: at(1_000 + n * 10) }));
  await sendInBatches(h, original);
  const expected = inOrder(original);
  const first = await page(h, 120, null);
  assertEquals(first.ids, expected.slice(0, 120));

  const before = [anEvent(900, { ts: at(0) }), anEvent(901, { ts: at(1_005) })];
  // The cursor's own instant, but a later arrival, so it follows the cursor.
  const same = anEvent(902, { ts: at(1_000 + 119 * 10) });
  const behind = [anEvent(903, { ts: at(3_333) }), anEvent(904, { ts: at(90_000) })];
  await h.post(`${PATH}/events`, { events: [...behind, same, ...before] });

  const remainder = (await pages(h, 50, first.cursor)).flat();
  assertEquals(remainder, inOrder([...original, ...behind, same, ...before]).slice(122));
  assertEquals(remainder[0], same.id);
  const again = (await pages(h, 50, first.cursor)).flat();
  assertEquals(again, remainder, "a cursor can be used again");
  const complete = (await pages(h, 1_000)).flat();
  assertEquals(complete, inOrder([...original, ...behind, same, ...before]));
});

Harness.test("section 6: events across the range of instants keep their order", async (h) => {
  const instants = [
    "9999-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z",
    at(),
    "1970-01-01T00:00:00.001Z",
  ];
  const sentEvents = instants.map((ts, n) => anEvent(n, { ts }));
  for (const event of sentEvents) await h.post(`${PATH}/events`, { events: [event] });
  assertEquals((await pages(h, 1)).flat(), inOrder(sentEvents));
});

Harness.test("section 6: a text that is not a cursor is refused, and a cursor reveals no other run", async (h) => {
  await h.post(`${PATH}/events`, { events: events(1, 3) });
  const { cursor } = await page(h, 2, null);
  assert(cursor !== null);
  for (const text of ["x", "!!!", "%00", "bm8", `${cursor}A`, `A${cursor}`, "LTEuMC4w"]) {
    const { status, json } = await h.get(`${PATH}?events_cursor=${text}`);
    const expected = [400, "invalid_field", "events_cursor"];
    assertEquals([status, json.error, json.field], expected, text);
  }
  const other = await h.addTeam("team");
  const foreign = await h.get(`${PATH}?events_cursor=${cursor}`, { key: other.key });
  assertEquals(foreign.status, 404);
});
