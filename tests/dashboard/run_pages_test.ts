/** A run of several pages of steps: what stands out in all of them, and the ways to each page. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aFinish, anEvent, aRun, at, eventId, runId } from "../support/builders/requests.ts";
import { type Reader, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { aCall, ATLAS, putPrice, sendEvents } from "../support/oracles/run_cost.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Numbers of the steps, a second apart; the slowest one and the most expensive call. */
const STEPS = 450, SLOWEST = 333, COSTLIEST = 251;

/** Stores a run whose model calls cost the same, and whose tools take as long, except for two. */
async function sendLongRun(h: Harness): Promise<Reader> {
  h.nowMs += 3_600_000;
  await putPrice(h, ATLAS);
  await h.post("/v1/runs", aRun(1));
  for (let from = 1; from <= STEPS; from += 50) {
    const events = Array.from({ length: 50 }, (_, i) => {
      const n = from + i;
      const tokens = n === COSTLIEST ? 9_000 : 1_000;
      return n % 2 === 1 && n !== SLOWEST
        ? aCall(n, { model: "atlas", input_tokens: tokens, output_tokens: 1 }, {
          ts: at(n * 1_000),
        })
        : anEvent(n, {
          type: "tool_call",
          ts: at(n * 1_000),
          data: { name: "read", latency_ms: n === SLOWEST ? 900 : 100 },
        });
    });
    await sendEvents(h, ...events);
  }
  return await signedIn(h);
}

/** Returns the ids of the steps that a page marks, by mark. */
function marksOn(html: string): Record<string, string> {
  const rows = html.split('<tr role="row" id="').slice(1);
  return Object.fromEntries(rows.flatMap((row) => {
    const [id = ""] = row.split('"');
    return [...row.split("</tr>")[0]?.matchAll(/class="mark" title="([^"]*)"/g) ?? []]
      .map(([, mark = ""]) => [mark, id]);
  }));
}

/** Returns the target of the link with a text. */
function linkOf(html: string, text: string): string {
  const link = html.split("<a ").find((each) => textOf(`<a ${each}`).startsWith(text));
  return /href="([^"#]*)/.exec(link ?? "")?.[1]?.replaceAll("&amp;", "&") ?? "";
}

/** Returns the id of the first event of a page. */
function firstOn(html: string): string | undefined {
  return /<tr role="row" id="(evt_eu_[0-9a-f]{32})"/.exec(html)?.[1];
}

function selectedOn(html: string): string | undefined {
  return /<tr role="row" id="([^"]*)"[^>]*aria-selected="true"/.exec(html)?.[1];
}

Harness.test("the slowest step and the most expensive call are those of all pages, one click away", async (h) => {
  const reader = await sendLongRun(h);
  const { text } = await reader.get(PAGE);
  assertEquals(marksOn(text), {}, "both are on other pages");
  const facts = textOf(text.split('<dl class="facts')[1]?.split("</dl>")[0] ?? "");
  assertMatch(facts, /slowest step 900 ms/);
  assertMatch(facts, /most expensive \$0\.0225/);
  const dearest = (await reader.get(linkOf(text, "most expensive"))).text;
  assertEquals(firstOn(dearest), eventId(COSTLIEST));
  assertEquals(selectedOn(dearest), eventId(COSTLIEST));
  const marks = { "most expensive": eventId(COSTLIEST), slowest: eventId(SLOWEST) };
  assertEquals(marksOn(dearest), marks);
  assertMatch(textOf(dearest.split('id="step"')[1] ?? ""), /9,000/);
  const slowest = (await reader.get(linkOf(text, "slowest step"))).text;
  assertEquals([firstOn(slowest), selectedOn(slowest)], [eventId(SLOWEST), eventId(SLOWEST)]);
  assertEquals(marksOn(slowest), { slowest: eventId(SLOWEST) });
});

Harness.test("the most expensive call is the one by the prices after a repricing", async (h) => {
  const reader = await sendLongRun(h);
  await sendEvents(
    h,
    aCall(900, { model: "other", input_tokens: 1, output_tokens: 1 }, { ts: at(900_000) }),
  );
  await putPrice(h, { ...ATLAS, model: "other", input_usd_per_million: 1_000_000 });
  await h.worker.idle();
  assertMatch(await reader.words(PAGE), /most expensive \$0\.0225/);
  assertEquals((await h.post("/v1/rate-card/reprice", { model: "other" })).status, 202);
  await h.worker.idle();
  const { text } = await reader.get(PAGE);
  assertMatch(textOf(text), /most expensive \$1\.00/);
  const dearest = (await reader.get(linkOf(text, "most expensive"))).text;
  assertEquals(selectedOn(dearest), eventId(900));
});

Harness.test("each part of the minimap links to the page that begins at its time", async (h) => {
  const reader = await sendLongRun(h);
  const { text } = await reader.get(PAGE);
  const nav = text.split('<nav class="map-pages"')[1]?.split("</nav>")[0] ?? "";
  const links = [...nav.matchAll(/<a href="([^"#]*)#timeline" aria-label="Steps from ([^"]*)"/g)];
  assertEquals(links.length, 40);
  assertEquals(nav.match(/tabindex="0"/g)?.length, 1, "one Tab stop");
  // The axis ends at 8 min 20 s or later: each part is at least 12 s long.
  const pathAt = (i: number) => links[i]?.[1]?.replaceAll("&amp;", "&") ?? "";
  const [first, middle] = [await reader.get(pathAt(0)), await reader.get(pathAt(20))];
  assertEquals(firstOn(first.text), eventId(1));
  const began = Number.parseInt(firstOn(middle.text)?.slice(-8) ?? "", 16);
  assert(began > 200 && began < 400, `${began}`);
  const last = await reader.get(pathAt(39));
  assert(last.text.includes(eventId(STEPS)), "after the last step there are the last steps");
  assertMatch(last.text, /First steps/);
});

Harness.test("a trace has a map and marks up to 1,000 events while it changes, then up to 5,000", async (h) => {
  h.nowMs += 3_600_000;
  await h.post("/v1/runs", aRun(1));
  const reader = await signedIn(h);
  let sent = 0;
  const sendUpTo = async (count: number) => {
    for (; sent < count; sent += 50) {
      const events = Array.from({ length: 50 }, (_, i) => {
        const n = sent + i + 1;
        return anEvent(n, { ts: at(n), data: { latency_ms: n === 77 ? 9_000 : 1 } });
      });
      await sendEvents(h, ...events);
    }
  };
  const assertWhole = async (isWhole: boolean, says: RegExp) => {
    const text = await reader.words(PAGE);
    assertMatch(text, says);
    assertEquals(/slowest step 9 s/.test(text), isWhole, `${sent} events`);
  };
  await sendUpTo(1_000);
  await assertWhole(true, /1,000 events/);
  await sendUpTo(1_050);
  await assertWhole(
    false,
    /A trace has a map and marks up to 1,000 events while it changes, or fewer large ones/,
  );
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  await h.worker.idle();
  await sendUpTo(5_000);
  await h.worker.idle();
  await assertWhole(true, /5,000 events/);
  await sendUpTo(5_050);
  await h.worker.idle();
  await assertWhole(false, /A trace has a map and marks up to 5,000 events/);
});
