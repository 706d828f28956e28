/** `deno task assure chaos`: causes faults around real service processes. */
import { print, say } from "../../../bench/report.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { diskKinds } from "../../support/harness/small_disk.ts";
import { denokvCommand } from "../../support/fakes/denokv.ts";
import { clockAndNotices, clockAndRate, clockMoves, CLOCKS } from "./clock.ts";
import { halfOpen, hugeAndDeep, reset } from "./connections.ts";
import {
  diskFull,
  diskHangs,
  diskTurnsReadOnly,
  startOnFullDisk,
  whyNoFailingDisk,
} from "./disks.ts";
import type { Fault } from "./fault.ts";
import {
  fileDamaged,
  fileReadOnly,
  filesLost,
  filesMoved,
  startOnLockedStore,
  storeLocked,
} from "./files.ts";
import { jobsTwiceAndPoisoned } from "./jobs.ts";
import { logBroken, logDiskFull, LOGS } from "./logs.ts";
import { mailDead } from "./mail.ts";
import { secondProcess, twoProcesses } from "./processes.ts";
import { denokvRestoreDrill, restoreDrill } from "./restore.ts";

async function allFaults(): Promise<Fault[]> {
  const denokv = denokvCommand();
  return [
    ...await diskFaults(),
    { name: "file read-only", run: fileReadOnly },
    { name: "files deleted or replaced", run: filesLost },
    { name: "folder moved away and back", run: filesMoved },
    { name: "file damaged", run: fileDamaged },
    { name: "backup, kill -9, restore", run: restoreDrill },
    {
      name: "denokv: backup, kill -9, restore",
      impossible: denokv === null ? "denokv is not installed" : undefined,
      run: () => denokvRestoreDrill(denokv ?? ""),
    },
    ...Object.entries(LOGS).map(([name, open]) => ({
      name: `log: ${name}`,
      run: () => logBroken(open),
    })),
    { name: "store locked", run: () => storeLocked(5_000) },
    { name: "start on a locked store", run: startOnLockedStore },
    ...Object.entries(CLOCKS).map(([way, times]) => ({
      name: `clock ${way}`,
      run: () => clockMoves(times),
    })),
    { name: "clock and request rate", run: clockAndRate },
    { name: "clock and notices", run: clockAndNotices },
    { name: "slow bodies and half-open sockets", run: halfOpen },
    { name: "connections reset", run: reset },
    { name: "huge and deep bodies", run: hugeAndDeep },
    { name: "mail server dead, silent and dripping", run: mailDead },
    { name: "jobs cut off and poisoned", run: jobsTwiceAndPoisoned },
    { name: "second process", run: secondProcess },
    { name: "two processes without the lock", run: twoProcesses },
  ];
}

async function diskFaults(): Promise<Fault[]> {
  const kinds = await diskKinds();
  const needs = (kind: (typeof kinds)[number]) =>
    kinds.includes(kind) ? undefined : `this machine has no ${kind}`;
  const noFailingDisk = await whyNoFailingDisk();
  return [
    ...(["tmpfs", "file size limit"] as const).map((disk) => ({
      name: `disk full for 75 s (${disk})`,
      impossible: needs(disk),
      // The runtime's own timers, one of which may write every minute, fire at least once.
      run: () => diskFull(disk, 75_000),
    })),
    { name: "log: its disk is full for a while", impossible: needs("tmpfs"), run: logDiskFull },
    { name: "start on a full disk", impossible: needs("tmpfs"), run: startOnFullDisk },
    { name: "disk turns read-only", impossible: noFailingDisk, run: diskTurnsReadOnly },
    { name: "disk hangs", impossible: noFailingDisk, run: diskHangs },
  ];
}

/** Maximum milliseconds of a fault, far more than any needs; a longer one counts as not held. */
const FAULT_MS_MAX = 180_000;

/** Runs a fault and prints its line; returns true if every promise was kept. */
async function holds({ name, impossible, run }: Fault): Promise<boolean> {
  if (impossible !== undefined) {
    print(`${name}: skipped, ${impossible}`);
    return true;
  }
  say(`${name} …`);
  try {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new Error("The fault did not end in time")),
      FAULT_MS_MAX,
    );
    print(`${name}: ${await Promise.race([run(), timeout])}: held`);
    clearTimeout(timer);
    return true;
  } catch (error) {
    print(`${name}: NOT HELD: ${error instanceof Error ? error.stack : error}`);
    return false;
  }
}

/** Runs the faults whose names contain one of the parts, and prints the results. */
export async function run({ parts, list }: AssuranceOptions): Promise<boolean> {
  const faults = (await allFaults())
    .filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (list) {
    faults.forEach(({ name }) => print(name));
    return true;
  }
  let passed = 0;
  for (const fault of faults) passed += Number(await holds(fault));
  print(`${passed} of ${faults.length} held or skipped`);
  return passed === faults.length && faults.length > 0;
}
