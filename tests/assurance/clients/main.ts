/**
 * `deno task assure clients`: clients that generators make from the OpenAPI document compile and read
 * a run. Each generator and its libraries come from a package registry; one whose tools are missing is
 * skipped by name.
 */
import { assertEquals } from "@std/assert";
import { print, say } from "../../../bench/report.ts";
import { aFinish, anEvent, aRun, aScore, runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { CLIENTS } from "./clients.ts";
import { MissingTool } from "./tools.ts";

const RUN = `/v1/runs/${runId(1)}`;

export async function run({ parts, list }: AssuranceOptions): Promise<boolean> {
  const names = parts.length === 0 ? Object.keys(CLIENTS) : parts;
  if (list) names.forEach(print);
  if (list) return true;
  await using h = await Harness.open();
  const expected = await storeRun(h);
  const { text } = await h.get("/openapi.json", { key: null });
  let isGood = true;
  for (const name of names) {
    const read = CLIENTS[name];
    if (read === undefined) throw new Error(`There is no client "${name}": --list shows them`);
    try {
      const result = await withFolder(async (folder) => {
        await Deno.writeTextFile(`${folder}/openapi.json`, text);
        return await read({ folder, url: h.url, key: h.key, id: runId(1) });
      });
      assertEquals(result.run, expected, name);
      print(`${name} ${result.version}: compiles, and reads the run`);
    } catch (error) {
      if (error instanceof MissingTool) {
        print(`${name}: skipped, because ${error.message}`);
        continue;
      }
      isGood = false;
      say(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return isGood;
}

/** Stores a run with events, scores and a cost, and returns what each client must read. */
async function storeRun(h: Harness): Promise<unknown> {
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 };
  await h.post("/v1/runs", aRun(1, { metadata: { env: "prod" } }));
  await h.post(`${RUN}/events`, { events: [anEvent(1, { type: "llm_call", data }), anEvent(2)] });
  await h.post(`${RUN}/finish`, aFinish({ scores: { quality: 0.9, done: true } }));
  await h.post(`${RUN}/scores`, aScore(1, { value: 3 }));
  const { json } = await h.get(`${RUN}?wait=final`);
  return {
    id: json.id,
    status: json.status,
    // Languages write instants differently.
    started: Date.parse(json.started_at),
    cost: json.cost_usd,
    scores: json.scores.map(({ value }: { value: number | boolean }) => value),
    events: json.events.map(({ type }: { type: string }) => type),
    model: json.events[0].data.model,
  };
}
