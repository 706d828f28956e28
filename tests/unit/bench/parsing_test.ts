/** Parsing of tool output and system files by the benchmark. */
import { assertEquals, assertThrows } from "@std/assert";
import { newId } from "../../../bench/volume.ts";
import { isRunId } from "../../../domain/core/ids.ts";
import { parseUsage } from "../../../bench/process.ts";
import { parseAccepted, parseWrk } from "../../../bench/load.ts";
import { countSyncs } from "../../../bench/writes.ts";

Deno.test("wrk: refusals are failures and do not count toward the rate", () => {
  const line = '{"requests":1000,"refused":100,"lost":5,"durationUs":2000000,' +
    '"p50Us":1500,"p99Us":12000}';
  assertEquals(parseWrk(`a warning\n${line}\n`), {
    answered: 900,
    requestsPerSecond: 450,
    p50Ms: 1.5,
    p99Ms: 12,
    failures: 105,
  });
  assertThrows(() => parseWrk("unable to connect"), Error, "unable to connect");
});

Deno.test("/proc: CPU time and memory of a process whose name contains spaces", () => {
  const stat = "77 (a (b) c) S 1 77 77 0 -1 4194560 900 0 0 0 250 150 0 0 20 0 9 0 100 1 1";
  assertEquals(parseUsage(stat, "Name:\tdeno\nVmRSS:\t  204800 kB\n"), {
    cpuSeconds: 4,
    rssMb: 200,
  });
});

Deno.test("strace: a sync split over two lines counts once", () => {
  const trace = [
    "12 fsync(22) = 0",
    "13 fdatasync(23 <unfinished ...>",
    "12 fsync(22)                         = 0",
    "13 <... fdatasync resumed>)          = 0",
    "13 +++ exited with 0 +++",
  ].join("\n");
  assertEquals(countSyncs(trace), 3);
  assertEquals(countSyncs(""), 0);
});

Deno.test("metrics: accepted calls count, refused ones and other routes do not", () => {
  const line = (method: string, route: string, status: number, count: number) =>
    `runledger_http_requests_total{method="${method}",route="${route}",status="${status}"} ${count}`;
  const metrics = [
    line("POST", "/v1/runs", 202, 10),
    line("POST", "/v1/runs", 503, 7),
    line("POST", "/v1/runs/:id/events", 202, 9),
    line("POST", "/v1/runs/:id/finish", 202, 8),
    line("POST", "/v1/heartbeats", 202, 100),
    line("GET", "/v1/ping", 200, 1_000),
    line("GET", "/v1/spend", 200, 5),
  ].join("\n");
  assertEquals(parseAccepted(metrics), { opened: 1_110, batches: 9, finished: 1_108 });
});

Deno.test("half of the ids are UUIDv7 of their time, and half are random", () => {
  const nowMs = Date.parse("2026-11-23T12:00:00Z");
  const prefix = nowMs.toString(16).padStart(12, "0");
  const ids = Array.from({ length: 1_000 }, () => newId("run", nowMs));
  const ordered = ids.filter((id) => id.startsWith(`run_eu_${prefix}7`)).length;
  assertEquals(ids.every(isRunId), true);
  assertEquals(ordered > 400 && ordered < 600, true, `${ordered} of 1,000`);
});
