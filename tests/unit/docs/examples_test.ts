/** What the documents tell a newcomer to paste works as it stands. */
import { assert, assertEquals } from "@std/assert";
import { Harness } from "../../support/harness/harness.ts";

const root = new URL("../../../", import.meta.url);

/** The operator's key of the examples. */
const OPERATOR_KEY = "opk_eu_00112233445566778899aabbccddeeff";

/** Whether a command is there. */
function isInstalled(command: string): boolean {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  return folders.some((folder) => {
    try {
      return Deno.statSync(`${folder}/${command}`).isFile;
    } catch {
      return false;
    }
  });
}

/** The shell blocks of a document that call the service. */
function examplesOf(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, root));
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block)
    .filter((block) => /curl|^U=/m.test(block));
}

/** Runs blocks in one shell, as somebody pasting them would, against a harness. */
async function paste(
  h: Harness,
  blocks: string[],
  shell = "bash",
): Promise<{ code: number; output: string }> {
  const script = blocks.join("\n")
    .replaceAll("http://127.0.0.1:8000", h.url)
    .replaceAll("apk_eu_0123456789abcdef0123456789abcdef", h.key);
  const { code, stdout, stderr } = await new Deno.Command(shell, { args: ["-c", script] })
    .output();
  return { code, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

for (const shell of ["bash", "zsh"]) {
  Deno.test({
    name: `the README's first minute opens, feeds, finishes and reads back a run, in ${shell}`,
    ignore: !isInstalled(shell),
    fn: async () => {
      await using h = await Harness.open();
      const blocks = examplesOf("README.md");
      const { code, output } = await paste(h, blocks, shell);
      assertEquals(code, 0, output);
      assert(output.includes('"status":"running"'), output);
      assert(output.includes('{"accepted":1,"duplicates":0}'), output);
      const [id = ""] = /run_eu_[0-9a-f]{32}/.exec(output) ?? [];
      const run = (await h.get(`/v1/runs/${id}`)).json;
      assertEquals([run.status, run.cost.state], ["success", "final"]);
      const agoMs = Date.now() - Date.parse(run.started_at);
      assert(agoMs >= 0 && agoMs < 60_000, `${run.started_at} is not now`);
      const idMs = parseInt(id.slice(7, 19), 16);
      assert(Math.abs(idMs - Date.parse(run.started_at)) <= 2_000, `${id} is not of its start`);
      const { input_tokens, output_tokens } = run.usage;
      assertEquals([input_tokens, output_tokens, run.cost_usd], [1_200, 340, 0.0064]);
      // Opening, event, finish, and the ping of the cron line.
      assertEquals(await h.usage(), 4);
      // Another minute is another run.
      const again = await paste(h, blocks, shell);
      assertEquals([again.code, again.output.includes('"error":')], [0, false], again.output);
    },
  });
}

Deno.test("no shell block of the README has a comment, which an interactive zsh takes as arguments", () => {
  const text = Deno.readTextFileSync(new URL("README.md", root));
  for (const [, block = ""] of text.matchAll(/```sh\n(.*?)```/gs)) {
    assert(!/(^|\s)#/m.test(block), block);
  }
});

Deno.test("every curl example of the API document is accepted", async () => {
  await using h = await Harness.open({ operatorKey: OPERATOR_KEY });
  const { code, output } = await paste(h, examplesOf("docs/API.md"));
  assertEquals(code, 0, output);
  assert(!output.includes('"error":'), output);
  const statuses = h.log.map((line) => JSON.parse(line)).map(({ route, status }) =>
    `${status} ${route}`
  );
  assertEquals(statuses, [
    "202 POST /v1/runs",
    "202 POST /v1/runs/:id/events",
    "202 POST /v1/runs/:id/finish",
    "202 POST /v1/runs/:id/scores",
    "202 POST /v1/heartbeats",
    "200 GET /v1/ping",
    "200 GET /v1/runs",
    "200 GET /v1/runs.ndjson",
    "200 GET /v1/runs.csv",
    "200 GET /v1/runs/:id",
    "200 GET /v1/runs/:id",
    "200 GET /v1/runs/:id/cost",
    "200 GET /v1/changes",
    "200 GET /v1/live",
    "200 GET /v1/refusals",
    "200 PATCH /v1/agents/:slug",
    "200 GET /v1/spend",
    "202 POST /v1/heartbeats",
    "200 GET /v1/spend/unpriced",
    "200 GET /v1/rate-card",
    "202 PUT /v1/rate-card",
    "200 GET /v1/rate-card/match",
    "202 POST /v1/rate-card/reprice",
    "200 DELETE /v1/runs/:id",
    "202 POST /v1/heartbeats",
    "200 DELETE /v1/customers/:customer_id",
    "200 DELETE /v1/customers/:customer_id",
    "200 GET /v1/deletions/:id",
    "201 POST /v1/keys",
    "201 POST /v1/keys",
    "201 POST /v1/keys/:id/rotate",
    "200 GET /v1/audit",
    "201 POST /v1/teams",
    "200 GET /v1/teams",
    "200 PATCH /v1/teams/:id",
    "200 GET /metrics",
    "200 GET /openapi.json",
  ]);
});

Deno.test("every answer that the API document shows is the one its example gets", async () => {
  await using h = await Harness.open({ operatorKey: OPERATOR_KEY });
  const text = Deno.readTextFileSync(new URL("docs/API.md", root));
  const pairs = [...text.matchAll(/```sh\n(.*?)```(?:\s*```json\n(.*?)```)?/gs)];
  const [setting, ...blocks] = pairs.map(([, block = ""]) => block);
  let shown = 0;
  for (const [at, block] of blocks.entries()) {
    const { output } = await paste(h, [setting ?? "", block]);
    // What is summed up behind the answers is there for the next example.
    await h.worker.idle();
    const sample = pairs[at + 1]?.[2];
    if (sample === undefined) continue;
    shown++;
    const real = output.split(/\n(?=\{)/).at(-1) ?? "";
    assertShows(JSON.parse(sample), JSON.parse(real.slice(real.indexOf("{"))), block);
  }
  assert(shown > 8);
});

/** Names, and what differs from one day or machine to another. */
const DIFFERENT = new Set([
  "id",
  "created_by",
  "deleted_by",
  "received_at",
  "secret",
  "team",
  "target",
  "replaces",
  "replaced_by",
  "cursor",
]);

/** Fails unless an answer has the fields and values of a sample; "…" in it leaves out the rest. */
function assertShows(sample: unknown, real: unknown, where: string): void {
  if (typeof sample !== "object" || sample === null) return assertEquals(real, sample, where);
  assert(typeof real === "object" && real !== null, where);
  const names = Object.keys(sample);
  if (names.includes("…")) names.splice(names.indexOf("…"), 1);
  else assertEquals(Object.keys(real), names, where);
  for (const name of names) {
    const [shown, got] = [sample, real].map((side) => (side as Record<string, unknown>)[name]);
    if (DIFFERENT.has(name) && typeof shown === "string") assertEquals(typeof got, "string", where);
    else assertShows(shown, got, where);
  }
}
