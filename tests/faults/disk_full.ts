/** The disk under a service gets full while it is written to, and has space again. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Load } from "../support/load.ts";
import { type Ended, Process, runToEnd } from "../support/process.ts";
import { type DiskKind, openSmallDisk } from "../support/small_disk.ts";
import { stopExact, verify } from "./verify.ts";
import { accessTo, msSince, number, settingsIn, startLoad, toldOf } from "./fault.ts";

/** A variant of this fault. */
export interface FullDisk {
  readonly disk: DiskKind;
  readonly queue: "on" | "off";
  /** Whether a message of the store's queue is due meanwhile, which ends the process for certain. */
  readonly messageDue?: boolean;
}

/** Calls before the disk is full, refused while it is, and taken afterwards. */
const CALLS = { before: 300, refused: 200, after: 100 } as const;

/** Fills the disk, frees it, and looks at what became of every call. */
export async function diskFull({ disk: kind, queue, messageDue }: FullDisk): Promise<string> {
  await using disk = await openSmallDisk(kind);
  const settings = settingsIn(disk.folder, { RUNLEDGER_QUEUE: queue });
  const path = settings.RUNLEDGER_KV;
  if (messageDue) await enqueueMessages(path);
  const loads = [new Load(0), new Load(1_000_000)] as const;
  const [before, after] = loads;

  await using first = await Process.startBy(disk.launcher, settings);
  await using load = startLoad(before, first);
  await before.reached(CALLS.before);
  await disk.fill(first.pid);
  await before.until(({ isOver, refused }) => isOver || !messageDue && refused >= CALLS.refused);
  const hasEnded = before.isOver;
  await load.stop();
  await disk.free(first.pid);
  if (hasEnded) assertEndedByQueue(await first.ended(), queue);

  const freedMs = performance.now();
  await using second = hasEnded ? await Process.start(settings) : null;
  await using running = startLoad(after, second ?? first);
  await after.reached(1);
  const acceptedIn = msSince(freedMs);
  await after.reached(CALLS.after);
  await running.stop();
  assertEquals((await (second ?? first).stop()).code, 0);
  const tally = await verify(path, loads);
  const { storage_unavailable: _, ...others } = { ...before.refusals, ...after.refusals };
  assertEquals(others, {});

  await using third = await Process.start(settings);
  for (const load of loads) await load.resend(accessTo(third));
  await stopExact(third, path, loads);
  const fate = hasEnded ? "ended with 1 and was started" : "stayed";
  return `${toldOf(tally)}, ${number(before.refused)} calls refused with 503, ` +
    `${fate}, taken again ${acceptedIn} after space was free, exact`;
}

/** Starts on a disk without any space, which is told from a damaged file, and again once there is some. */
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
  assertEquals([code, stderr.trim().split("\n").length], [3, 1], stderr);
  assertMatch(stderr, /Cannot open .*: check its disk/);
  await disk.free(0);
  await using process = await Process.start(settings);
  await load.resend(accessTo(process));
  const verified = await stopExact(process, path, [load]);
  return `ended with 3 in ${Math.round(ms)} ms and one line, with space ${toldOf(verified)}, exact`;
}

/** Due one after the other for half a minute: whenever the disk is full, the next one comes. */
async function enqueueMessages(path: string): Promise<void> {
  using kv = await Deno.openKv(path);
  for (let n = 0; n < 60; n++) await kv.enqueue(n, { delay: n * 500 });
}

/** The one way in which a full disk may end a process: the runtime's own queue cannot be written. */
function assertEndedByQueue({ code, stderr }: Ended, queue: string): void {
  assertEquals([code, queue], [1, "on"], stderr);
  assertMatch(stderr, /panicked[^]*KV queue/);
  assert(!stderr.includes("Uncaught"), stderr);
}
