import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { importTraj } from "../../../tools/import_traj/import_traj.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { aStep, aTrajectory, Folder, Recorder, runTask } from "../../support/harness/tools.ts";

const DATE = new Date(NOON - 3_600_000);

function run(h: Harness, recorder: Recorder, ...args: string[]): Promise<number> {
  return importTraj(["--url", h.url, "--key", h.key, ...args], recorder);
}

/** Ids of the runs a report names, in its order. */
function idsIn(recorder: Recorder): string[] {
  return recorder.lines.filter((line) => /^ {2}run_/.test(line)).map((line) => line.trim());
}

Deno.test("a trajectory becomes a run that matches the file", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const recorder = new Recorder();
  assertEquals(await run(h, recorder, await folder.write("a.traj", aTrajectory(), DATE)), 0);
  const [id] = idsIn(recorder);
  const stored = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals(
    [stored.agent, stored.status, stored.finished_at, stored.duration_ms],
    ["swe-agent", "success", DATE.toISOString(), 255],
  );
  const { events, llm_calls, tool_calls, errors, input_tokens, output_tokens } = stored.usage;
  assertEquals([events, llm_calls, tool_calls, errors], [6, 2, 2, 0]);
  assertEquals([input_tokens, output_tokens], [4_321, 87]);
  assertEquals(stored.output.submission, "diff --git a/x b/x");
  assertEquals(stored.metadata.instance_cost, 0.75);
  assertEquals(stored.events[1].data.action, "cat file_1.txt\n");
  assertEquals(stored.events[5].data.output, "content 2");
  assertEquals(await h.usage(), 8);
});

Deno.test("the report compares the ledger's numbers with the file's and shows how to read the run", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const recorder = new Recorder();
  await run(h, recorder, await folder.write("a.traj", aTrajectory(), DATE));
  const text = recorder.lines.join("\n");
  assertMatch(text, /^a\.traj: success, stored$/m);
  assertMatch(text, /^ +events +6 +6 from 2 steps$/m);
  assertMatch(text, /^ +model calls +2 +2$/m);
  assertMatch(text, /^ +input tokens +4321 +4321$/m);
  assertMatch(text, /^ +output tokens +87 +87$/m);
  assertMatch(text, /^ +cost +\$0 +\$0\.75 \(the file names no model: use --model\)$/m);
  const [id] = idsIn(recorder);
  assertStringIncludes(text, `curl -fsS -u "$KEY:" "${h.url}/v1/runs/${id}"`);
  assertStringIncludes(text, `\n  ${h.url}/dashboard/runs/${id}\n`);
  assertEquals(recorder.lines.at(-1), `All runs: ${h.url}/dashboard/runs?agent=swe-agent`);
});

Deno.test("--model names the missing model: the run is priced, and is a separate run", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const path = await folder.write("a.traj", aTrajectory(), DATE);
  const [plain, named, bare] = [new Recorder(), new Recorder(), new Recorder()];
  await run(h, plain, path);
  assertEquals(await run(h, named, path, "--model", "openai/gpt-4o"), 0, named.failures.join());
  assertEquals(await run(h, bare, path, "--model=house-model"), 0, bare.failures.join());
  const ids = [plain, named, bare].flatMap(idsIn);
  assertEquals(new Set(ids).size, 3);
  const models = await Promise.all(ids.map(async (id) => {
    const { model, provider } = (await h.get(`/v1/runs/${id}`)).json.events[0].data;
    return [provider, model];
  }));
  assertEquals(models, [[undefined, "unknown"], ["openai", "gpt-4o"], [undefined, "house-model"]]);
  // 4,321 input tokens at $2.50 and 87 output tokens at $10 a million.
  assertMatch(named.lines.join("\n"), /^ +cost +\$0\.0116725 +\$0\.75$/m);
  assertMatch(bare.lines.join("\n"), /^ +cost +\$0 .*\(no price for: house-model\)$/m);
  const again = new Recorder();
  await run(h, again, path, "--model", "openai/gpt-4o");
  assertMatch(again.lines[0] ?? "", /already stored$/);
  for (const wrong of ["", "openai/", "x".repeat(257)]) {
    assertEquals(await run(h, new Recorder(), path, `--model=${wrong}`), 2, wrong);
  }
});

Deno.test("decision 35: a file sent twice changes nothing, and neither does a copy with another date", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const path = await folder.write("a.traj", aTrajectory(), DATE);
  const copy = await folder.write("copy.traj", aTrajectory(), new Date(NOON));
  const first = new Recorder();
  assertEquals(await run(h, first, path), 0);
  const before = await h.dump();
  await using other = await Harness.open();
  const both = new Recorder();
  assertEquals(await run(other, both, path, copy), 0, both.failures.join());
  assertEquals(new Set(idsIn(both)), new Set(idsIn(first)));
  for (const again of [path, copy]) {
    const recorder = new Recorder();
    assertEquals(await run(h, recorder, again), 0, recorder.failures.join());
    assertEquals(idsIn(recorder), idsIn(first));
    assertMatch(recorder.lines.join("\n"), /0 events stored, 6 duplicates/);
    assertMatch(recorder.lines[0] ?? "", /already stored$/);
    assertEquals(await h.dump(), before);
  }
});

Deno.test("a copy completes an interrupted import, with the start stored in the ledger", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const complete = new Recorder();
  await using other = await Harness.open();
  const path = await folder.write("a.traj", aTrajectory(), DATE);
  await run(other, complete, path);
  const [id] = idsIn(complete);
  const started_at = new Date(NOON - 60_000).toISOString();
  await h.post("/v1/runs", { id, agent: "swe-agent", started_at });
  assertEquals(await run(h, new Recorder(), path), 0);
  const stored = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals([stored.started_at, stored.duration_ms], [started_at, 255]);
  assertEquals([stored.status, stored.usage.events], ["success", 6]);
  assertEquals(stored.flags, ["no_tokens"]);
});

Deno.test("another agent's import of the same file is another run", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const path = await folder.write("a.traj", aTrajectory(), DATE);
  const [one, two] = [new Recorder(), new Recorder()];
  assertEquals([await run(h, one, path), await run(h, two, path, "--agent", "fork")], [0, 0]);
  const agents = [...idsIn(one), ...idsIn(two)].map(async (id) =>
    (await h.get(`/v1/runs/${id}`)).json.agent
  );
  assertEquals(await Promise.all(agents), ["swe-agent", "fork"]);
});

Deno.test("decision 11: long steps of random text are stored completely if they fit, and cut if not", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  // Random text does not compress, so that nothing shrinks on the way to the store.
  const noise = (bytes: number) =>
    Array.from(
      { length: bytes / 1_000 },
      () => crypto.getRandomValues(new Uint8Array(750)).toBase64(),
    ).join("");
  const texts = [...Array.from({ length: 6 }, () => noise(200_000)), noise(400_000)];
  const trajectory = texts.map((observation, n) => aStep(n, { observation }));
  const path = await folder.write("long.traj", aTrajectory({ trajectory }), DATE);
  const recorder = new Recorder();
  assertEquals(await run(h, recorder, path), 0, recorder.failures.join());
  // A page of events is 1 MiB at most.
  const address = `/v1/runs/${idsIn(recorder)[0]}`;
  const first = (await h.get(address)).json;
  const second = (await h.get(`${address}?events_cursor=${first.events_cursor}`)).json;
  assertEquals(second.events_cursor, null);
  const seen = [...first.events, ...second.events]
    .filter(({ type }: { type: string }) => type === "observation");
  const outputs: string[] = seen.map(({ data }: { data: { output: string } }) => data.output);
  assertEquals(outputs.map((output, i) => texts[i]?.startsWith(output)), texts.map(() => true));
  assertEquals(outputs.slice(0, 6).map(({ length }) => length), Array(6).fill(200_000));
  assertEquals(seen[6].data.shortened.from_chars, 400_000);
  assert((outputs[6]?.length ?? 0) > 240_000);
});

Deno.test("several files are reported in command-line order, with one progress display", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const first = await folder.write("b.traj", aTrajectory({ environment: "one" }), DATE);
  const info = { exit_status: "exit_cost", model_stats: {} };
  const second = await folder.write("a.traj", aTrajectory({ info }), DATE);
  const recorder = new Recorder();
  assertEquals(await run(h, recorder, first, second), 0);
  const [ok, failed] = idsIn(recorder);
  assertEquals((await h.get(`/v1/runs/${ok}`)).json.status, "success");
  assertEquals((await h.get(`/v1/runs/${failed}`)).json.status, "failed");
  assertMatch(recorder.lines.join("\n"), /input tokens +0 +not in the file/);
  assertStringIncludes(recorder.drawn.at(-1) ?? "", "(6/6)");
});

Deno.test("an unreadable file stops the import before anything is sent", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const good = await folder.write("a.traj", aTrajectory(), DATE);
  const bad = await folder.write("notes.txt", "hello", DATE);
  for (const path of [bad, `${folder.path}/missing.traj`, folder.path]) {
    const recorder = new Recorder();
    assertEquals(await run(h, recorder, good, path), 1);
    assertEquals([recorder.failures.length, recorder.lines.length], [1, 0]);
    assertStringIncludes(recorder.failures[0] ?? "", path);
  }
  assertEquals(await run(h, new Recorder()), 2);
  assertEquals(await h.usage(), 0);
});

Deno.test("numbers that differ from the file's end the import with 1", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const path = await folder.write("a.traj", aTrajectory(), DATE);
  const first = new Recorder();
  await run(h, first, path);
  const data = { model: "other", input_tokens: 1, output_tokens: 0 };
  const event = { id: `evt_eu_${"0".repeat(32)}`, type: "llm_call", ts: DATE.toISOString(), data };
  await h.post(`/v1/runs/${idsIn(first)[0]}/events`, { events: [event] });
  const recorder = new Recorder();
  assertEquals(await run(h, recorder, path), 1);
  assertMatch(recorder.lines.join("\n"), /input tokens +4322 +4321/);
  assertMatch(
    recorder.failures.join("\n"),
    /^The ledger's totals differ from 1 of the files: see above$/,
  );
});

Deno.test("deno task import-traj works with the permissions it has", async () => {
  await using h = await Harness.open();
  await using folder = await Folder.create();
  const path = await folder.write("a.traj", aTrajectory(), DATE);
  const { code, stdout, stderr } = await runTask(
    "import-traj",
    "--url",
    h.url,
    "--key",
    h.key,
    path,
  );
  assertEquals(code, 0, stderr);
  assertMatch(stderr, /100 % \(3\/3\)\n$/);
  const id = /run_eu_[0-9a-f]{32}/.exec(stdout)?.[0];
  assertEquals((await h.get(`/v1/runs/${id}`)).json.usage.input_tokens, 4_321);
  const absent = await runTask("import-traj", "--url", "http://127.0.0.1:1", path);
  assertEquals([absent.code, absent.stdout], [1, ""]);
  assertMatch(absent.stderr, /^No server at [^\n]*deno task dev[^\n]*\n$/);
});
