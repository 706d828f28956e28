/** Measurements of services over a shared KV: their setups, links, loads and bars. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { parseBench } from "../../../bench/main.ts";
import { Link } from "../../../bench/link.ts";
import { wrk } from "../../../bench/load.ts";
import { isInstalled } from "../../../bench/process.ts";
import { barsOf, parseCommits, setupsOf, type Shared } from "../../../bench/shared.ts";
import { startSide } from "../../../bench/sides.ts";
import { readProgress } from "../../../bench/backlog.ts";
import { UsageError } from "../../../tools/command.ts";
import { Recorder } from "../../support/harness/tools.ts";

function setups(...args: string[]) {
  const parsed = parseBench(["shared", ...args], new Recorder());
  if (parsed === null) throw new Error("only its help was printed");
  return setupsOf({ folder: "/tmp", ...parsed.options });
}

Deno.test("shared: --only and --quick select setups", () => {
  assertEquals(setups().length, 7);
  assertEquals(setups("--only=3-0ms,file"), ["file", "3-0ms"]);
  assertEquals(setups("--quick"), ["file", "1-0ms", "3-0ms", "1-90ms"]);
  assertThrows(() => setups("--only=2-0ms"), UsageError, '"2-0ms"');
});

Deno.test("shared: the commits of several services are added", () => {
  const metrics = (stored: number) =>
    `runledger_commits_total{end="stored"} ${stored}\nrunledger_commits_total{end="lost"} 2\n` +
    `runledger_commits_total{end="failed"} 0\nrunledger_writes_total 7\n`;
  const commits = parseCommits(metrics(1) + metrics(10));
  assertEquals(commits, { stored: 11, lost: 4, failed: 0, writes: 14 });
});

Deno.test("shared: ratios are formed round by round, and each setup has its own bars", () => {
  const one = (requestsPerSecond: number): Shared => ({
    requestsPerSecond,
    ...{ answered: 100, p50Ms: 1, p99Ms: 2, failures: 0, sustained: 9, cpuUs: 1, kvCpuUs: 1 },
    commits: { stored: 996, lost: 4, failed: 0, writes: 2_000 },
    finalMs: [3_000],
  });
  const bars = barsOf({
    "file": [one(100), one(10)],
    "1-0ms": [one(90), one(8)],
    "3-0ms": [one(70)],
    "1-90ms": [one(50)],
  });
  assertEquals(bars.map(({ name, met }) => [name, met]), [
    ["near ÷ file", true],
    ["1-0ms: cost final p99, ms", false],
    ["3-0ms: commits lost, %", true],
    ["3-0ms: cost final p99, ms", false],
    ["1-90ms: cost final p99, ms", true],
  ]);
  assertEquals(bars[0]?.measured, "0.85 (0.80 to 0.90)");
});

Deno.test("shared: a link forwards bytes in order after half of its round trip, both ways", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const echo = (async () => {
    using connection = await listener.accept();
    await connection.readable.pipeTo(connection.writable, { preventClose: true });
  })();
  await using link = new Link(listener.addr.port, 40);
  const client = await Deno.connect({ hostname: "127.0.0.1", port: link.port });
  const startMs = performance.now();
  const sent = new Uint8Array(200_000).map((_, i) => i % 251);
  const writer = client.writable.getWriter();
  void writer.write(sent);
  const received = new Uint8Array(sent.length);
  for (let at = 0; at < sent.length;) at += await client.read(received.subarray(at)) ?? NaN;
  assert(performance.now() - startMs >= 39, `${performance.now() - startMs} ms`);
  assertEquals(received, sent);
  client.close();
  await echo;
});

Deno.test({
  name: "shared: the calls of complete runs go to all services",
  ignore: !await isInstalled("wrk", "--version"),
  async fn() {
    await using one = await startSide("nothing", ":memory:");
    await using two = await startSide("nothing", ":memory:");
    const load = { call: "run", connections: 8, seconds: 1 } as const;
    const { answered, failures } = await wrk(one.url, load, [two.url]);
    const counts = await Promise.all([one, two].map(async (side) => {
      const { opened, batches, finished } = (await readProgress(side)).accepted;
      assert(
        Math.min(opened, batches, finished) > 0,
        JSON.stringify({ opened, batches, finished }),
      );
      return opened + batches + finished;
    }));
    assertEquals([counts[0]! + counts[1]! - answered <= 8, failures], [true, 0]);
  },
});
