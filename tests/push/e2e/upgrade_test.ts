/**
 * The way to a version with other rows, as `docs/UPGRADE.md` describes it: this tree is the old
 * version, and a copy of it, in which codecs store other rows, is the new one.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { LEDGER_FORMAT } from "../../../kv/base/keys.ts";
import { VERSION } from "../../../domain/core/version.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../../support/builders/requests.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** Texts that a version with other rows replaces, by file. */
type Patch = Readonly<Record<string, readonly (readonly [from: string, to: string])[]>>;

const PATCH: Patch = {
  "kv/base/codec_sums.ts": [[
    '    events: "plain",\n    llmCalls: "plain",\n',
    '    llmCalls: "plain",\n    events: "plain",\n',
  ]],
  "kv/spend/rollups.ts": [[
    '    runs: "plain",\n    succeeded: "plain",\n',
    '    succeeded: "plain",\n    runs: "plain",\n',
  ]],
  "kv/base/keys.ts": [[
    `LEDGER_FORMAT = ${LEDGER_FORMAT};`,
    `LEDGER_FORMAT = ${LEDGER_FORMAT + 1};`,
  ]],
  "deno.json": [[`"version": "${VERSION}"`, '"version": "9.0.0"']],
};

/** Copies the program, and changes its codecs. */
async function makeNext(folder: string): Promise<string> {
  const next = `${folder}/next`;
  await Deno.mkdir(next);
  const parts = [
    "app",
    "domain",
    "jobs",
    "kv",
    "outbound",
    "routes",
    "runtime",
    "tools",
    "main.ts",
  ];
  const sources = [...parts, "deno.json", "deno.lock"].map((name) => `${ROOT}${name}`);
  const { success } = await new Deno.Command("cp", { args: ["-r", ...sources, next] }).output();
  assert(success);
  // Imports of tests' packages name files of the tests.
  await Deno.mkdir(`${next}/tests`);
  await Deno.symlink(`${ROOT}tests/packages`, `${next}/tests/packages`);
  for (const [file, changes] of Object.entries(PATCH)) {
    let text = await Deno.readTextFile(`${next}/${file}`);
    for (const [from, to] of changes) {
      assertStringIncludes(text, from, `${file} has changed: change the patch`);
      text = text.replace(from, to);
    }
    await Deno.writeTextFile(`${next}/${file}`, text);
  }
  return next;
}

/** Runs a tool of a tree; returns its exit code and output. */
async function tool(tree: string, name: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", "-A", `${tree}/tools/${name}.ts`, ...args],
    cwd: tree,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
  }).output();
  const text = new TextDecoder();
  return { code, text: text.decode(stdout) + text.decode(stderr) };
}

const KEY = "apk_eu_5e1f00d5e1f00d5e1f00d5e1f00d5e1f";
const headers = { Authorization: `Bearer ${KEY}` };

async function send(url: string, path: string, body: unknown): Promise<void> {
  const method = path === "/v1/rate-card" ? "PUT" : "POST";
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert(answer.ok, `${path}: ${answer.status} ${text}`);
}

const READS = [
  "/v1/runs?limit=50",
  `/v1/runs/${runId(1)}`,
  `/v1/runs/${runId(1)}/cost`,
  "/v1/usage",
  "/v1/incidents",
  "/v1/audit",
  ...["day", "agent", "model"].map((group) => `/v1/spend?group_by=${group}`),
];

/** Reads once all runs are in sums and lists. */
async function readAll(url: string): Promise<string[]> {
  for (const n of [1, 3, 4, 5]) {
    const wait = await fetch(`${url}/v1/runs/${runId(n)}?wait=final&timeout=20`, { headers });
    await wait.body?.cancel();
  }
  for (let listed = 0; listed < 5;) {
    const list = await fetch(`${url}/v1/runs?limit=50`, { headers });
    listed = (await list.json()).runs.length;
  }
  return await Promise.all(READS.map(async (path) => {
    const answer = await fetch(url + path, { headers });
    const text = await answer.text();
    assertEquals(answer.status, 200, text);
    return `${path} ${text}`;
  }));
}

async function fill(url: string): Promise<void> {
  await send(url, "/v1/rate-card", {
    model: "atlas",
    input_usd_per_million: 3,
    output_usd_per_million: 15,
  });
  for (const n of [3, 4, 5]) {
    await send(url, "/v1/heartbeats", aHeartbeat(n, { status: "fail", started_at: at() }));
  }
  await send(url, "/v1/runs", aRun(2));
  await send(url, "/v1/runs", aRun(1, { customer_id: "acme" }));
  const data = { provider: "acme", model: "atlas", input_tokens: 1_234, output_tokens: 567 };
  const events = [anEvent(1, { type: "llm_call", data }), anEvent(2)];
  await send(url, `/v1/runs/${runId(1)}/events`, { events });
  await send(url, `/v1/runs/${runId(1)}/finish`, aFinish());
}

inFolder.test("upgrade: a ledger of this version moves to one with other rows, and answers the same", async (folder) => {
  const next = await makeNext(folder);
  const ledger = { RUNLEDGER_KV: `${folder}/old.kv`, RUNLEDGER_KEY: KEY };
  let before: string[];
  {
    await using old = await Process.start(ledger);
    await fill(old.url);
    before = await readAll(old.url);
    await old.stop();
  }
  const refused = await tool(next, "verify", `--kv=${ledger.RUNLEDGER_KV}`);
  assertEquals(refused.code, 3, refused.text);
  assertStringIncludes(
    refused.text,
    `has format ${LEDGER_FORMAT}, written by version ${VERSION}, but version 9.0.0 reads only`,
  );
  const file = `${folder}/ledger.gz`;
  const exported = await tool(ROOT, "export", file, `--kv=${ledger.RUNLEDGER_KV}`);
  assertEquals(exported.code, 0, exported.text);
  const moved = `${folder}/new.kv`;
  const imported = await tool(next, "import", file, `--kv=${moved}`);
  assertEquals(imported.code, 0, imported.text);
  const verified = await tool(next, "verify", `--kv=${moved}`);
  assertEquals(verified.code, 0, verified.text);
  const settings = { ...ledger, RUNLEDGER_KV: moved };
  await using service = await Process.startBy(["env", "-C", next], settings);
  assertStringIncludes(service.stderr, "Runledger 9.0.0 listens");
  assertEquals(await readAll(service.url), before);
  await service.stop();
});
