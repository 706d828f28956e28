/** Events that are too large or too deep: what is kept of them (R7). */
import { assert, assertEquals } from "@std/assert";
import {
  EVENT_BYTES_MAX,
  PREVIEW_CHARS_MAX,
  USAGE_FIELD_BYTES_MAX,
} from "../../../../domain/core/limits.ts";
import { cutEvent } from "../../../../domain/ingest/truncate.ts";
import { readLlmCall } from "../../../../domain/pricing/llm_call.ts";

const encoder = new TextEncoder();

Deno.test("R7: an event that is too large keeps its metrics and the beginning of its data", () => {
  const usage = '{"input_tokens":12345678901234567890}';
  const metricMembers = `"model":"m","usage":${usage},"model":"n"`;
  const remainder = `"text":"${"é😀".repeat(EVENT_BYTES_MAX / 6)}","error":"${"e".repeat(20_000)}"`;
  const data = `{${metricMembers},${remainder}}`;
  const event = `{"type":"llm_call","data":${data},"unknown":${data},"id":"a"}`;
  const result = cutEvent(event);
  assert(result.isTruncated);
  const preview = JSON.stringify(Array.from(data).slice(0, PREVIEW_CHARS_MAX).join(""));
  assertEquals(
    result.text,
    `{"type":"llm_call","unknown":null,"id":"a","data":{"truncated":true,` +
      `"bytes":${encoder.encode(data).length},"preview":${preview},` +
      `"model":"n","usage":${usage},"error":true}}`,
  );
});

Deno.test("R7: metrics cannot bypass the size limit", () => {
  const filler = `"text":"${"x".repeat(EVENT_BYTES_MAX)}"`;
  const of = (members: string) => {
    const { text } = cutEvent(`{"data":{${members},${filler}}}`);
    const { truncated: _, bytes: __, preview: ___, ...figures } = JSON.parse(text).data;
    return figures;
  };
  const long = "m".repeat(USAGE_FIELD_BYTES_MAX - 2);
  assertEquals(of(`"model":"${long}"`), { model: long });
  assertEquals(of(`"model":"${long}x"`), {});
  assertEquals(of(`"usage":${"[".repeat(17)}${"]".repeat(17)}`), {});
  const all = ["model", "provider", "usage", "mode", "status", "value"];
  assertEquals(Object.keys(of(all.map((name) => `"${name}":"${long}"`).join())).length, 4);
});

Deno.test("R7: the counts of a cut container price the same as those of the uncut one", () => {
  const anthropic = { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: "11" };
  const written = { ephemeral_5m_input_tokens: 13, ephemeral_1h_input_tokens: 17 };
  const openai = { prompt_tokens: 1e3, completion_tokens: 20 };
  const details = { cached_tokens: 300, cache_write_tokens: 40 };
  const billed = { input_tokens: 3, output_tokens: 4 };
  const deep = JSON.parse("[".repeat(20) + "]".repeat(20));
  const text = "x".repeat(EVENT_BYTES_MAX);
  for (const noise of [{ noise: text, deep }, { deep }]) {
    const payloads: Record<string, unknown>[] = [
      { usage: { ...noise, ...openai, prompt_tokens_details: details } },
      { usage: { ...openai, prompt_tokens_details: { ...details, ...noise } } },
      { usage: { ...anthropic, cache_creation: written, service_tier: "batch", ...noise } },
      { usage: { ...anthropic, cache_creation: { ...noise, ...written } } },
      { usage: { ...anthropic, cache_creation_input_tokens: 19, ...noise } },
      { usage: { ...billed, input_tokens_details: { ...details, ...noise } } },
      { usage: { ...billed, input_tokens_details: text, cache_read_input_tokens: 2 } },
      { usage: { ...noise, prompt_tokens: [text], ...billed } },
      { usageMetadata: { promptTokenCount: 8, thoughtsTokenCount: 9, promptDetails: noise } },
      { meta: { ...noise, billed_units: billed, tokens: { input_tokens: 99 } } },
      { meta: { ...noise, tokens: { ...billed, ...noise } } },
      { ...openai, prompt_tokens_details: { ...noise, ...details } },
      { ...billed, input_tokens_details: { ...noise, ...details } },
    ];
    for (const payload of payloads) {
      const data = { model: "m", ...payload, filler: text };
      const event = cutEvent(JSON.stringify({ data }));
      assert(event.isTruncated);
      assert(event.text.length < 2 * USAGE_FIELD_BYTES_MAX);
      const { call } = readLlmCall(JSON.parse(event.text).data);
      assertEquals(call, readLlmCall(data).call, JSON.stringify(payload).slice(0, 200));
      assert(call.counted);
    }
  }
});

Deno.test("R7: a repeated metric uses its space once", () => {
  const long = JSON.stringify("m".repeat(USAGE_FIELD_BYTES_MAX - 2));
  const members = `${
    `"model":${long},`.repeat(6)
  }"model":"m","input_tokens":1,"usage":{"a":${long}}`;
  const filler = `"text":"${"x".repeat(EVENT_BYTES_MAX)}"`;
  const { text } = cutEvent(`{"data":{${members},${filler}}}`);
  const { model, input_tokens, usage } = JSON.parse(text).data;
  assertEquals([model, input_tokens, usage], ["m", 1, {}]);
});

Deno.test("R7: data that is too deep is truncated, data that fits is not", () => {
  const nest = (levels: number) => "[".repeat(levels - 1) + "]".repeat(levels - 1);
  for (const [levels, isTruncated] of [[64, false], [65, true], [500_000, true]] as const) {
    const event = `{"data":{"a":${nest(levels)}}}`;
    const result = cutEvent(event);
    assertEquals(result.isTruncated, isTruncated, String(levels));
    if (!isTruncated) assertEquals(result.text, event);
  }
  // Fields that are not read count for neither size nor depth.
  const event = `{"data":{"a":1.0},"x":${nest(90)},"y":"${"y".repeat(EVENT_BYTES_MAX)}"}`;
  const { text, isTruncated } = cutEvent(event);
  assertEquals([text, isTruncated], ['{"x":null,"y":null,"data":{"a":1.0}}', false]);
});
