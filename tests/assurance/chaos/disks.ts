/** Faults of a disk: it is full, turns read-only after a device error, or hangs. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { type DiskKind, openSmallDisk, run, succeeds } from "../../support/harness/small_disk.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { resendAndStop, verify } from "./verify.ts";
import {
  acknowledgedAgain,
  formatCounts,
  msSince,
  number,
  settingsIn,
  startLoad,
  statusOf,
  underLoad,
} from "./fault.ts";

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
  await resendAndStop(second, path, ...loads);
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
  const ready = { 200: 0, 503: 0 };
  while (performance.now() - startedMs < ms) {
    assertEquals(await statusOf(`${url}/v1/ping?agent=a`), 503);
    const status = await statusOf(`${url}/readyz`);
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
  const load = await underLoad(settings, CALLS.before, async (process, load, running) => {
    await running.stop();
    assertEquals((await process.stop()).code, 0);
    return load;
  });
  await disk.fill(0);
  const { code, stderr, ms } = await runToEnd(settings);
  assertEquals([code, stderr.trim().split("\n").length], [4, 1], stderr);
  assertMatch(stderr, /Cannot open .*: check its disk/);
  await disk.free(0);
  await using process = await Process.start(settings);
  const counts = await resendAndStop(process, path, load);
  return `ended with 4 in ${Math.round(ms)} ms and one line, with space ${counts}, exact`;
}

/** A disk that can be made to fail. Always `await using`. */
interface FailingDisk extends AsyncDisposable {
  readonly folder: string;
  /** Reports a device error to the file system, which then refuses writes. */
  fail(): Promise<void>;
  /** Repairs the file system and makes it writable; no file on it may be open. */
  mend(): Promise<void>;
}

const SIZE = 48 * 1_048_576;

/** Returns the reason why this machine cannot create such a disk, or undefined. */
export async function whyNoFailingDisk(): Promise<string | undefined> {
  return await withFolder(async (folder) => {
    try {
      await using disk = await openFailingDisk(folder);
      await disk.fail();
    } catch (error) {
      return `needs root, loop devices and ext4: ${String(error).split("\n")[0]}`;
    }
  });
}

async function openFailingDisk(parent: string): Promise<FailingDisk> {
  const image = `${parent}/disk.img`, folder = `${parent}/disk`;
  await Deno.mkdir(folder);
  {
    using file = await Deno.open(image, { write: true, create: true });
    await file.truncate(SIZE);
  }
  await run("mkfs.ext4", "-q", "-F", image);
  const mount = () => run("mount", "-o", "loop,errors=remount-ro", image, folder);
  await mount();
  return {
    folder,
    fail: async () => await Deno.writeTextFile(await triggerOf(folder), "1"),
    async mend() {
      await run("umount", folder);
      // fsck exits with a code above 0 because it repaired something.
      await succeeds("fsck.ext4", "-p", image);
      await mount();
    },
    [Symbol.asyncDispose]: () => run("umount", folder),
  };
}

/** Returns the kernel file that triggers an error of the file system. */
async function triggerOf(folder: string): Promise<string> {
  const mounts = (await Deno.readTextFile("/proc/mounts")).split("\n");
  const device = mounts.find((line) => line.split(" ")[1] === folder)?.split(" ")[0] ?? "";
  assert(device.startsWith("/dev/loop"), `${folder} is on ${device}`);
  return `/sys/fs/ext4/${device.slice("/dev/".length)}/trigger_fs_error`;
}

/** Turns the file system read-only under load, repairs it, and restarts the service. */
export async function diskTurnsReadOnly(): Promise<string> {
  return await withFolder(async (parent) => {
    await using disk = await openFailingDisk(parent);
    const settings = settingsIn(disk.folder);
    const load = await underLoad(settings, CALLS.before, async (process, load, running) => {
      await disk.fail();
      await load.until(({ refused }) => refused >= 100);
      await running.stop();
      assertEquals(Object.keys(load.refusals), ["storage_unavailable"]);
      assertEquals((await process.stop()).code, 0);
      return load;
    });
    await disk.mend();
    await using again = await Process.start(settings);
    const counts = await resendAndStop(again, settings.RUNLEDGER_KV, load);
    return `${counts}, ${number(load.refused)} calls refused with 503, ` +
      "exact after a repair and a restart of the service";
  });
}

/** Lets writes hang for longer than any call waits. */
export async function diskHangs(): Promise<string> {
  return await withFolder(async (parent) => {
    await using disk = await openFailingDisk(parent);
    const settings = settingsIn(disk.folder);
    return await underLoad(settings, CALLS.before, async (process, load, running) => {
      await run("fsfreeze", "--freeze", disk.folder);
      try {
        await load.until(({ refused }) => refused >= 20);
      } finally {
        await run("fsfreeze", "--unfreeze", disk.folder);
      }
      const acceptedIn = await acknowledgedAgain(load);
      await running.stop();
      const counts = await resendAndStop(process, settings.RUNLEDGER_KV, load);
      return `${counts}, ${number(load.refused)} calls refused with 503 after 2 s, ` +
        `accepted again after ${acceptedIn}, exact`;
    });
  });
}
