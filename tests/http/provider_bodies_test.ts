/** Provider responses, sent unchanged as the data of a model call, are priced to the picodollar. */
import { assertEquals } from "@std/assert";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import sent from "../fixtures/provider_bodies.json" with { type: "json" };

/** The row that prices a response, its tokens (input, output, cached) and its picodollars. */
interface Priced {
  /** Fields that the response lacks. */
  readonly added?: object;
  readonly row: string;
  readonly tokens: readonly [input: number, output: number, cached: number];
  readonly picodollars: bigint;
}

// Rates are in picodollars per token: $2.50 per million tokens is 2,500,000.
const PRICED: Readonly<Record<keyof typeof sent, Priced>> = {
  "OpenAI chat completions": {
    row: "default/openai/gpt-4o",
    tokens: [1_200, 300, 1_024],
    // (1,200 - 1,024) × 2,500,000 + 1,024 × 1,250,000 + 300 × 10,000,000
    // = 440,000,000 + 1,280,000,000 + 3,000,000,000
    picodollars: 4_720_000_000n,
  },
  "OpenAI Responses": {
    row: "default/openai/gpt-5",
    tokens: [2_000, 700, 1_536],
    // (2,000 - 1,536) × 1,250,000 + 1,536 × 125,000 + 700 × 10,000,000
    // = 580,000,000 + 192,000,000 + 7,000,000,000; reasoning is part of the output
    picodollars: 7_772_000_000n,
  },
  "OpenAI embeddings": {
    row: "default/openai/text-embedding-3-small",
    tokens: [8, 0, 0],
    // 8 × 20,000
    picodollars: 160_000n,
  },
  "Anthropic messages": {
    row: "default/anthropic/claude-sonnet-4-5",
    tokens: [2_512, 100, 2_000],
    // 12 × 3,000,000 + 2,000 × 300,000 + 500 × 3,750,000 + 100 × 15,000,000
    // = 36,000,000 + 600,000,000 + 1,875,000,000 + 1,500,000,000
    picodollars: 4_011_000_000n,
  },
  "Gemini": {
    row: "default/google/gemini-2.5-pro",
    tokens: [1_050, 500, 600],
    // (1,000 + 50 - 600) × 1,250,000 + 600 × 125,000 + (200 + 300) × 10,000,000
    // = 562,500,000 + 75,000,000 + 5,000,000,000
    picodollars: 5_637_500_000n,
  },
  "Mistral": {
    row: "default/mistral/mistral-large-2512",
    tokens: [100, 20, 64],
    // (100 - 64) × 500,000 + 64 × 50,000 + 20 × 1,500,000
    // = 18,000,000 + 3,200,000 + 30,000,000
    picodollars: 51_200_000n,
  },
  "Cohere v2, with the model that its answer does not name": {
    added: { model: "command-r-08-2024", provider: "cohere" },
    row: "default/cohere/command-r",
    tokens: [5, 418, 0],
    // 5 × 150,000 + 418 × 600,000 = 750,000 + 250,800,000; billed units, not all tokens
    picodollars: 251_550_000n,
  },
  "Cohere v1, with the model that its answer does not name": {
    added: { model: "command-r", provider: "cohere" },
    row: "default/cohere/command-r",
    tokens: [10, 20, 0],
    // 10 × 150,000 + 20 × 600,000 = 1,500,000 + 12,000,000
    picodollars: 13_500_000n,
  },
};

for (const [name, { added, row, tokens, picodollars }] of Object.entries(PRICED)) {
  Harness.test(`R4: the response of ${name} is priced exactly`, async (h) => {
    const body = { ...sent[name as keyof typeof sent], ...added };
    await h.post("/v1/runs", aRun(1));
    const events = [anEvent(1, { type: "llm_call", data: body })];
    const answer = await h.post(`/v1/runs/${runId(1)}/events`, { events });
    assertEquals([answer.status, answer.json], [202, { accepted: 1, duplicates: 0 }]);
    await h.worker.idle();
    const { usage, flags, events: [event], ...run } = (await h.get(`/v1/runs/${runId(1)}`)).json;
    assertEquals([event.data, event.unreadable, flags], [body, undefined, []]);
    assertEquals(event.priced_by, row);
    assertEquals([usage.input_tokens, usage.output_tokens, usage.cached_input_tokens], tokens);
    const cost = BigInt(Math.round(event.cost_usd * 1e12));
    assertEquals([cost, run.cost_usd], [picodollars, event.cost_usd]);
    // Reading the stored payload again gives the same result.
    const { json } = await h.get(`/v1/runs/${runId(1)}/cost`);
    const lines = json.calls[0].lines.map((line: { cost_usd: number }) => line.cost_usd * 1e12);
    const sum = lines.reduce((a: number, b: number) => a + Math.round(b), 0);
    assertEquals(BigInt(sum), picodollars);
    const { model } = json.by_model[0];
    const repriced = await h.post("/v1/rate-card/reprice", { model, dry_run: true });
    assertEquals([repriced.json.llm_calls, repriced.json.runs_changed], [1, 0]);
    assertEquals((await verifyStore(h.store)).differences, []);
  });
}

Harness.test("R4: an Anthropic response costs half in a batch", async (h) => {
  const response = sent["Anthropic messages"];
  const usage = { ...response.usage, service_tier: "batch" };
  const data = { ...response, usage };
  const events = [anEvent(1, { type: "llm_call", data })];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  const { events: [event] } = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals(event.cost_usd, 0.0020055);
});
