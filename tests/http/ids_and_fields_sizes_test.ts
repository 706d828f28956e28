/**
 * Large values: the limits to the byte, and anything below them stored completely (decision 11).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  EVENT_BYTES_MAX,
  OUTPUT_BYTES_MAX,
  PREVIEW_CHARS_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../domain/core/limits.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { enterprise, Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;
const encoder = new TextEncoder();

/** Deterministic random printable ASCII; no compression saves a fifth of it. */
function noise(length: number, seed = 1): string {
  const letters = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const code = 32 + (state >>> 8) % 95;
    letters[i] = code === 34 || code === 92 ? 33 : code;
  }
  return new TextDecoder().decode(letters);
}

/** An event of exactly this many bytes, as text. */
function anEventOfBytes(n: number, bytes: number): string {
  const empty = JSON.stringify(anEvent(n, { data: { noise: "" } }));
  // A function, because noise may contain replacement patterns of `replace`.
  return empty.replace('""', () => `"${noise(bytes - empty.length, n)}"`);
}

/** An object of exactly this many bytes, as text. */
function objectOfBytes(bytes: number): string {
  return `{"noise":"${noise(bytes - '{"noise":""}'.length)}"}`;
}

function withOutput(body: unknown, output: string): string {
  return `${JSON.stringify(body).slice(0, -1)},"output":${output}}`;
}

/** The payload of an event, as text. */
const dataOf = (event: string) => event.slice(event.indexOf('"data":'), -1);

Harness.test("R7: an event of exactly 256 KiB is kept, of one byte more the payload is truncated", async (h) => {
  const most = anEventOfBytes(1, EVENT_BYTES_MAX);
  assertEquals([encoder.encode(most).length, EVENT_BYTES_MAX], [262_144, 262_144]);
  const kept = await h.post(`${PATH}/events`, `{"events":[${most}]}`);
  assertEquals([kept.status, kept.headers.get("runledger-dropped")], [202, null]);
  const over = anEventOfBytes(3, EVENT_BYTES_MAX + 1);
  const batch = `{"events":[${JSON.stringify(anEvent(2))},${over}]}`;
  const cut = await h.post(`${PATH}/events`, batch);
  assertEquals([cut.status, cut.json], [202, { accepted: 2, duplicates: 0 }]);
  assertEquals(cut.headers.get("runledger-dropped"), "data=1");
  const { text, json } = await h.get(PATH);
  assertStringIncludes(text, dataOf(most));
  const input = dataOf(over).slice('"data":'.length);
  assertEquals(json.events[2].data, {
    truncated: true,
    bytes: input.length,
    preview: input.slice(0, PREVIEW_CHARS_MAX),
  });
});

Harness.test("R7: an output of exactly 512 KiB is kept, one byte more is truncated", async (h) => {
  const most = objectOfBytes(OUTPUT_BYTES_MAX);
  const over = objectOfBytes(OUTPUT_BYTES_MAX + 1);
  assertEquals([encoder.encode(most).length, OUTPUT_BYTES_MAX], [524_288, 524_288]);
  const preview = over.slice(0, PREVIEW_CHARS_MAX);
  const cut = { truncated: true, bytes: OUTPUT_BYTES_MAX + 1, preview };
  for (
    const [path, n, body] of [
      [`${PATH}/finish`, 1, aFinish()],
      ["/v1/heartbeats", 6, aHeartbeat(6)],
      ["/v1/heartbeats", 4, aHeartbeat(4, { status: "start" })],
    ] as const
  ) {
    const other = path.replace(runId(1), runId(n + 1));
    const otherBody = n === 1 ? body : { ...body, id: runId(n + 1) };
    assertEquals((await h.post(other, withOutput(otherBody, most))).status, 202);
    assertStringIncludes((await h.get(`/v1/runs/${runId(n + 1)}`)).text, `"output":${most}`);
    const answer = await h.post(path, withOutput(body, over));
    assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, "output=1"]);
    const { output, flags } = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals([output, flags.includes("truncated")], [cut, true], path);
    // The retry finds the stored record.
    assertEquals((await h.post(path, withOutput(body, over))).status, 200);
  }
});

Harness.test("decision 11: an incompressible batch of 1 MiB is stored and read completely", async (h) => {
  const input: string[] = [];
  const shapes = [[4, 262_000], [50, 20_900]] as const;
  for (const [count, bytes] of shapes) {
    const from = input.length;
    const batch = Array.from({ length: count }, (_, i) => anEventOfBytes(from + i, bytes));
    const body = `{"events":[${batch}]}`;
    assert(body.length > 0.99 * WHOLE_BODY_BYTES_MAX && body.length <= WHOLE_BODY_BYTES_MAX);
    const answer = await h.post(`${PATH}/events`, body);
    assertEquals([answer.status, answer.json], [202, { accepted: count, duplicates: 0 }]);
    input.push(...batch);
  }
  // Read by a process with an empty cache.
  await h.restart();
  const { text, count } = await readEvents(h);
  assertEquals(count, input.length);
  for (const event of input) assert(text.includes(dataOf(event)), "an event is not as it was sent");
  assertEquals(await h.usage(), input.length);
  const again = await h.post(`${PATH}/events`, `{"events":[${input.slice(0, 4)}]}`);
  assertEquals(again.json, { accepted: 0, duplicates: 4 });
});

Harness.test("decision 11: the largest possible finish is stored and read completely", async (h) => {
  const name = (n: number) => `${String.fromCodePoint(0x20000 + n).repeat(124)}${1_000 + n}`;
  const scores = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [name(n), n / 7]));
  const output = objectOfBytes(OUTPUT_BYTES_MAX);
  const body = withOutput(aFinish({ scores }), output);
  assertEquals((await h.post(`${PATH}/finish`, body)).status, 202);
  const { text, json } = await h.get(PATH);
  assertStringIncludes(text, `"output":${output}`);
  const read = json.scores.map((s: { name: string; value: number }) => [s.name, s.value]);
  assertEquals(Object.fromEntries(read), scores);
});

/** Incompressible labels; 1,000 are about 80 kB of JSON. */
function manyLabels(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from(
      { length: count },
      (_, n) => [`${noise(12, n)}${10_000 + n}`, noise(50, 50_000 + n)],
    ),
  );
}

enterprise.test("decision 38: a plan without a limit on metadata keeps a body full of it", async (h) => {
  const metadata = manyLabels(13_000);
  const body = JSON.stringify(aRun(1, { metadata }));
  assert(body.length > 0.9 * WHOLE_BODY_BYTES_MAX && body.length <= WHOLE_BODY_BYTES_MAX);
  const answer = await h.post("/v1/runs", body);
  assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, null]);
  const read = await h.get(PATH);
  assertEquals(read.status, 200);
  assertEquals(read.json.metadata, metadata);
  assertEquals((await h.post("/v1/runs", body)).status, 200);
});

enterprise.test("decision 38: such metadata and the largest output together fit one close", async (h) => {
  const metadata = manyLabels(6_000);
  const output = objectOfBytes(OUTPUT_BYTES_MAX);
  const closes = [
    [1, `${PATH}/finish`, aFinish({ metadata })],
    [2, "/v1/heartbeats", aHeartbeat(2, { metadata })],
  ] as const;
  for (const [n, path, fields] of closes) {
    const body = withOutput(fields, output);
    assertEquals((await h.post(path, body)).status, 202, path);
    const read = await h.get(`/v1/runs/${runId(n)}`);
    assertEquals(read.status, 200, path);
    assertEquals(read.json.metadata, metadata);
    assertStringIncludes(read.text, `"output":${output}`);
    assertEquals((await h.post(path, body)).status, 200, path);
  }
});

Harness.test("decision 11: neither long model names nor many batches outgrow the event ledger", async (h) => {
  const call = (n: number) =>
    anEvent(n, {
      type: "llm_call",
      data: {
        provider: "\u{1f600}".repeat(256),
        model: `${"\u{1f680}".repeat(252)}${1_000 + n}`,
        input_tokens: 2 ** 53 - 1,
      },
    });
  // Batches of one event fill a ledger page with the maximum number of entries.
  for (let n = 0; n < 260; n++) {
    const answer = await h.post(`${PATH}/events`, { events: [call(n)] });
    assertEquals(answer.status, 202, `batch ${n}: ${answer.text}`);
  }
  const { usage, cost } = (await h.get(PATH)).json;
  assertEquals([usage.llm_calls, usage.input_tokens], [260, 260 * (2 ** 53 - 1)]);
  assert(cost.unpriced_models.length > 0);
});

/** Reads all events of the run; a page of them is at most 1 MiB. */
async function readEvents(h: Harness): Promise<{ text: string; count: number }> {
  let [text, count, cursor] = ["", 0, ""];
  for (;;) {
    const page = await h.get(`${PATH}?events_limit=1000${cursor}`);
    assertEquals(page.status, 200);
    text += page.text;
    count += page.json.events.length;
    if (page.json.events_cursor === null) return { text, count };
    cursor = `&events_cursor=${page.json.events_cursor}`;
  }
}
