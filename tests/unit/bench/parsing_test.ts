/** Parsing of tool output and system files by the benchmark. */
import { assertEquals, assertThrows } from "@std/assert";
import { countSyncs } from "../../../bench/ingest.ts";
import { fileSystemOf, parseUsage } from "../../../bench/process.ts";
import { nextPause, parseWrk } from "../../../bench/load.ts";

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

Deno.test("mounts: the deepest mount that contains the folder determines the file system", () => {
  const mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\ntmpfs /tmp/ot btrfs rw 0 0\n";
  assertEquals(fileSystemOf("/tmp/other", mounts), "tmpfs");
  assertEquals(fileSystemOf("/home/me", mounts), "ext4");
  assertEquals(fileSystemOf("/home/me", ""), null);
});

Deno.test("a pause is adjusted by how much too long or too short a request took", () => {
  // 64 connections at 8,000/s need 8 ms per request; 10,000/s took 6.4 ms.
  assertEquals(Math.round(10 * nextPause(5, 64, 10_000, 8_000)), 66);
  assertEquals(nextPause(5, 64, 1_000, 8_000), 0.5);
});
