/** A client generated from the OpenAPI document compiles, and performs the README's steps. */
import { assert, assertEquals } from "@std/assert";
import openapiTS, { astToString } from "openapi-typescript";
import { fileURLToPath } from "node:url";
import { runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The README's steps, written with only the generated types. */
const README_STEPS = `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

const [baseUrl = "", key = "", id = ""] = Deno.args;
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${key}\` } });

function must<T>({ data, error }: { data?: T; error?: components["schemas"]["Error"] }): T {
  if (error !== undefined) throw new Error(\`\${error.error}: \${error.message}\`);
  if (data === undefined) throw new Error("no answer");
  return data;
}

const opened = must(await client.POST("/v1/runs", {
  body: {
    id,
    agent: "researcher",
    started_at: "2026-11-21T12:00:00Z",
    metadata: { env: "prod" },
  },
}));
const { accepted }: { accepted: number } = must(await client.POST("/v1/runs/{id}/events", {
  params: { path: { id } },
  body: {
    events: [{
      id: id.replace("run_", "evt_"),
      type: "llm_call",
      ts: "2026-11-21T12:00:04Z",
      data: {
        provider: "openai",
        model: "gpt-4o",
        input_tokens: 1200,
        output_tokens: 340,
        latency_ms: 2900,
        prompt: ["mine"],
      },
    }],
  },
}));
const finished = must(await client.POST("/v1/runs/{id}/finish", {
  params: { path: { id } },
  body: {
    status: "success",
    finished_at: "2026-11-21T12:00:09Z",
    output: { answer: 42 },
    scores: { quality: 0.9, done: true },
  },
}));
const run = must(await client.GET("/v1/runs/{id}", {
  params: { path: { id }, query: { wait: "final" } },
}));
const cost: number = run.cost_usd;
const model: unknown = run.events[0]?.data.model;
const list = must(await client.GET("/v1/runs", {
  params: { query: { agent: "researcher", status: "success", limit: 10 } },
}));
const { error: refusal } = await client.GET("/v1/runs/{id}", { params: { path: { id: "x" } } });
const code: components["schemas"]["ErrorCode"] | undefined = refusal?.error;
console.log(JSON.stringify({
  statuses: [opened.status, finished.status, run.status],
  accepted,
  output: run.output,
  metadata: run.metadata,
  cost,
  model,
  listed: list.runs.map(({ id }) => id),
  code,
}));
`;

/** Code that the compiler must reject: without the types, or without strict mode, it would not. */
const WRONG: Readonly<Record<string, string>> = {
  "a status that is none":
    `export const wrong: components["schemas"]["FinishRequest"]["status"] = "done";`,
  "tokens as text":
    `export const wrong: components["schemas"]["LlmCallData"] = { input_tokens: "12" };`,
  "a missing field":
    `export const wrong: components["schemas"]["ScoreRequest"] = { id: "x", name: "y" };`,
  "a field that is null":
    `export const wrong = (run: components["schemas"]["Run"]): string => run.agent;`,
  "any without saying so": `export const wrong = (run) => run as components["schemas"]["Run"];`,
};

async function deno(...args: string[]) {
  const command = new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1" } });
  const { code, stdout, stderr } = await command.output();
  const [out = "", err = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out, err };
}

Harness.test(
  "a generated TypeScript client compiles strictly, and performs the README's steps",
  async (h, t) => {
    const folder = await Deno.makeTempDir({ prefix: "runledger-client-" });
    const write = async (name: string, text: string) => {
      await Deno.writeTextFile(`${folder}/${name}`, text);
      return `${folder}/${name}`;
    };
    const config = [
      "--frozen",
      `--config=${ROOT}deno.json`,
      `--lock=${ROOT}tests/packages/development.lock`,
    ];
    try {
      const { json } = await h.get("/openapi.json", { key: null });
      await write("api.ts", astToString(await openapiTS(json)));

      await t.step("the steps", async () => {
        const program = await write("readme.ts", README_STEPS);
        const { out, err, code } = await deno(
          ...["run", ...config, "--check", "--no-prompt", "--allow-net=127.0.0.1", program],
          ...[h.url, h.key, runId(1)],
        );
        assertEquals(code, 0, err);
        assertEquals(JSON.parse(out), {
          statuses: ["running", "success", "success"],
          accepted: 1,
          output: { answer: 42 },
          metadata: { env: "prod" },
          cost: 0.0064,
          model: "gpt-4o",
          listed: [runId(1)],
          code: "invalid_id",
        });
      });

      await t.step("wrong types are rejected", async () => {
        const files = await Promise.all(
          Object.entries(WRONG).map(([name, text]) => {
            const wrong = `import type { components } from "./api.ts";\n${text}\n`;
            return write(`${name.replaceAll(" ", "_")}.ts`, wrong);
          }),
        );
        const { err } = await deno("check", ...config, ...files);
        for (const file of files) assert(err.includes(`${file}:`), `${file}: ${err}`);
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);
