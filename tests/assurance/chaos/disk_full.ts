/** Fills the disk of a service while it writes, then frees space. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { type DiskKind, openSmallDisk } from "../../support/harness/small_disk.ts";
import { stopExact, verify } from "./verify.ts";
import { accessTo, formatCounts, KEY, msSince, number, settingsIn, startLoad } from "./fault.ts";

/** Calls before the disk is full, refused while it is full, and accepted afterwards. */
const CALLS = { before: 300, refused: 200, after: 100 } as const;

/**
 * Fills the disk, frees it, and checks every call. The process must keep running.
 *
 * @param fullMs minimum time for which the disk is full
 */
export async function diskFull(kind: DiskKind, fullMs = 0): Promise<string> {
  await using disk = await openSmallDisk(kind);
  const settings = settingsIn(disk.folder);
  const path = settings.RUNLEDGER_KV;
  const loads = [new Load(0), new Load(1_000_000)] as const;
  const [before, after] = loads;
  await leaveMessages(path);

  await using first = await Process.startBy(disk.launcher, settings);
  {
    await using _ = startLoad(before, first);
    await before.reached(CALLS.before);
    await disk.fill(first.pid);
    await before.until(({ isOver, refused }) => isOver || refused >= CALLS.refused);
    assert(!before.isOver, `the process ended: ${first.stderr}`);
  }
  await staysRefused(first.url, fullMs);
  await disk.free(first.pid);

  const freedMs = performance.now();
  await using running = startLoad(after, first);
  await after.reached(1);
  const acceptedIn = msSince(freedMs);
  const ready = await fetch(`${first.url}/readyz`);
  assertEquals([ready.status, await ready.json()], [200, { status: "ready" }]);
  await after.reached(CALLS.after);
  await running.stop();
  assertEquals((await first.stop()).code, 0);
  const counts = await verify(path, loads);
  const { storage_unavailable: _, ...otherRefusals } = { ...before.refusals, ...after.refusals };
  assertEquals(otherRefusals, {});

  await using second = await Process.start(settings);
  for (const load of loads) await load.resend(accessTo(second));
  await stopExact(second, path, loads);
  return `${formatCounts(counts)}, ${number(before.refused)} calls refused with 503, ` +
    `accepted again ${acceptedIn} after space was free, exact`;
}

/**
 * Leaves messages in the runtime's queue, one due every half second. They would end a process that
 * listens to the queue while the disk is full, so that this test fails if one does.
 */
async function leaveMessages(path: string): Promise<void> {
  using kv = await Deno.openKv(path);
  for (let n = 0; n < 60; n++) await kv.enqueue(n, { delay: n * 500 });
}

/**
 * Fails unless every write gets 503 for `ms` milliseconds, and `/readyz` nearly always: SQLite keeps
 * the space of a commit that failed halfway, and a small one of the worker may fit into it.
 */
async function staysRefused(url: string, ms: number): Promise<void> {
  const startedMs = performance.now();
  const headers = { Authorization: `Bearer ${KEY}` };
  const statusOf = async (path: string) => {
    const answer = await fetch(url + path, { headers });
    await answer.body?.cancel();
    return answer.status;
  };
  const ready = { 200: 0, 503: 0 };
  while (performance.now() - startedMs < ms) {
    assertEquals(await statusOf("/v1/ping?agent=a"), 503);
    const status = await statusOf("/readyz");
    assert(status === 200 || status === 503, `/readyz: ${status}`);
    ready[status]++;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert(ms === 0 || ready[503] > 4 * ready[200], `/readyz: ${JSON.stringify(ready)}`);
}

/** Starts on a full disk, which must not be reported as a damaged file, and restarts with space. */
export async function startOnFullDisk(): Promise<string> {
  await using disk = await openSmallDisk("tmpfs");
  const settings = settingsIn(disk.folder);
  const path = settings.RUNLEDGER_KV;
  const load = new Load(0);
  {
    await using process = await Process.start(settings);
    await using running = startLoad(load, process);
    await load.reached(CALLS.before);
    await running.stop();
    assertEquals((await process.stop()).code, 0);
  }
  await disk.fill(0);
  const { code, stderr, ms } = await runToEnd(settings);
  assertEquals([code, stderr.trim().split("\n").length], [4, 1], stderr);
  assertMatch(stderr, /Cannot open .*: check its disk/);
  await disk.free(0);
  await using process = await Process.start(settings);
  await load.resend(accessTo(process));
  const verified = await stopExact(process, path, [load]);
  return `ended with 4 in ${Math.round(ms)} ms and one line, with space ${
    formatCounts(verified)
  }, exact`;
}
