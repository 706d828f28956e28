/** `deno task verify`: its output and its exit codes. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { verify } from "../../../tools/verify.ts";
import { anEvent, runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";
import { fill, FILLED } from "../../support/builders/ledger_of_everything.ts";
import { Folder, Recorder, runTask } from "../../support/harness/tools.ts";

Harness.test("verify: one line per team and a verdict, exit code 0 if all is exact", async (h) => {
  await fill(h);
  const io = new Recorder();
  assertEquals(await verify([`--kv=${h.path}`], io), 0);
  assertEquals(io.failures, []);
  assertEquals(io.lines.length, 3);
  const own = `${h.team.id}: exact, ${FILLED.runs} runs, ${FILLED.events} events`;
  assert(io.lines.includes(own), io.lines.join("\n"));
  assertStringIncludes(io.lines.at(-1) ?? "", "is exact");
});

Harness.test("verify: differences are explained, with exit code 1", async (h) => {
  await fill(h);
  const month = "2026-11";
  const key = keys.usage(h.team.id, month);
  const { value } = await h.store.reader.get<Deno.KvU64>(key);
  const calls = value?.value ?? 0n;
  await h.store.writer.commit({ sets: [{ key, value: new Deno.KvU64(calls + 1n) }] });
  const io = new Recorder();
  assertEquals(await verify(["--kv", h.path], io), 1);
  const text = io.lines.join("\n");
  assertStringIncludes(text, `${h.team.id}: 1 difference, `);
  assertStringIncludes(text, `${h.team.id}: usage of ${month}`);
  assertStringIncludes(text, `expected: calls ${calls}`);
  assertStringIncludes(text, `stored:   calls ${calls + 1n}`);
  assertStringIncludes(io.lines.at(-1) ?? "", "1 difference in");
});

Harness.test("verify: a team that is too busy to compare is reported, with exit code 4", async (h) => {
  await h.worker.stop();
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  const io = new Recorder();
  assertEquals(await verify([`--kv=${h.path}`], io), 4);
  assertEquals(io.lines[0], `${h.team.id}: busy, 1 run, 1 event`);
  assertStringIncludes(io.lines.at(-1) ?? "", "finish its queue");
});

Harness.test("verify: progress is drawn on a terminal", async (h) => {
  const sets = Array.from({ length: 100 }, (_, n) => ({
    key: keys.run(h.team.id, runId(n) as RunId),
    value: true,
  }));
  await h.store.writer.commit({ sets });
  const io = new Recorder(true);
  assertEquals(await verify([`--kv=${h.path}`], io), 0);
  assertEquals(io.drawn, ["\r100 runs", "\n"]);
});

Deno.test("verify: a missing ledger is reported and not created, exit code 3", async () => {
  await using folder = await Folder.create();
  const path = `${folder.path}/none.kv`;
  const io = new Recorder();
  assertEquals(await verify([`--kv=${path}`], io), 3);
  assertEquals(io.failures.length, 1);
  assertStringIncludes(io.failures[0] ?? "", path);
  assertEquals(await Deno.stat(path).catch(() => null), null);
});

Deno.test("verify: an unknown option is refused, and --help lists the exit codes", async () => {
  const io = new Recorder();
  assertEquals(await verify(["--nope"], io), 2);
  assertStringIncludes(io.failures[0] ?? "", "--help");
  assertEquals(await verify(["--help"], io), 0);
  assertMatch(io.lines.join("\n"), /--kv=FILE[^]*Exit codes: 0 exact, 1/);
});

Deno.test("verify: as a task in its own process, next to the running service", async () => {
  await using h = await Harness.open({ onDisk: true });
  await fill(h);
  const { code, stdout, stderr } = await runTask("verify", `--kv=${h.path}`);
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "is exact");
  // The service keeps writing to its file.
  assertEquals((await h.post("/v1/heartbeats", { agent: "after" })).status, 202);
});
