/** Faults of a disk: it turns read-only after a device error, or hangs. */
import { assert, assertEquals } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { Process } from "../../support/harness/process.ts";
import { run, succeeds } from "../../support/harness/small_disk.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { stopExact } from "./verify.ts";
import { accessTo, formatCounts, msSince, number, settingsIn, startLoad } from "./fault.ts";

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
    const load = new Load(0);
    {
      await using process = await Process.start(settings);
      await using running = startLoad(load, process);
      await load.reached(300);
      await disk.fail();
      await load.until(({ refused }) => refused >= 100);
      await running.stop();
      assertEquals(Object.keys(load.refusals), ["storage_unavailable"]);
      assertEquals((await process.stop()).code, 0);
    }
    await disk.mend();
    await using again = await Process.start(settings);
    await load.resend(accessTo(again));
    const verified = await stopExact(again, settings.RUNLEDGER_KV, [load]);
    return `${formatCounts(verified)}, ${number(load.refused)} calls refused with 503, ` +
      "exact after a repair and a restart of the service";
  });
}

/** Lets writes hang for longer than any call waits. */
export async function diskHangs(): Promise<string> {
  return await withFolder(async (parent) => {
    await using disk = await openFailingDisk(parent);
    const settings = settingsIn(disk.folder);
    await using process = await Process.start(settings);
    const load = new Load(0);
    await using running = startLoad(load, process);
    await load.reached(300);
    await run("fsfreeze", "--freeze", disk.folder);
    try {
      await load.until(({ refused }) => refused >= 20);
    } finally {
      await run("fsfreeze", "--unfreeze", disk.folder);
    }
    const [freedMs, acknowledged] = [performance.now(), load.acknowledged];
    await load.until((load) => load.acknowledged > acknowledged);
    const acceptedIn = msSince(freedMs);
    await running.stop();
    await load.resend(accessTo(process));
    const verified = await stopExact(process, settings.RUNLEDGER_KV, [load]);
    return `${formatCounts(verified)}, ${number(load.refused)} calls refused with 503 after 2 s, ` +
      `accepted again after ${acceptedIn}, exact`;
  });
}
