/** `deno task verify`: its output and its exit codes. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { verify } from "../../../tools/verify.ts";
import { anEvent, runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";
import { fill, FILLED } from "../../support/builders/ledger_of_everything.ts";
import { Recorder } from "../../support/harness/tools.ts";

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
