/** A disk that is really full when a test wants it to be, and has space again afterwards. */
import { assert } from "@std/assert";
import type { Launcher } from "./process.ts";

/** A small disk. Always `await using`, and end what runs on it before. */
export interface SmallDisk extends AsyncDisposable {
  /** Where it is. */
  readonly folder: string;
  /** How to start a process on it. */
  readonly launcher: Launcher;
  /** Leaves a process no space. */
  fill(pid: number): Promise<void>;
  /** Gives it back. */
  free(pid: number): Promise<void>;
}

/**
 * How a disk can be small: a file system of a few megabytes, which only root may mount, or a limit on the
 * size of files, which anybody may set for a process of their own.
 */
export type DiskKind = "tmpfs" | "file size limit";

/** More than a service needs that is little used: its log of commits is let grow to 4 MiB. */
const TMPFS_SIZE = "24m";

/** Which small disks there can be here, the most real one first. */
export async function diskKinds(): Promise<DiskKind[]> {
  const folder = await makeFolder();
  const kinds: DiskKind[] = [];
  if (await succeeds("mount", "-t", "tmpfs", "none", folder)) {
    kinds.push("tmpfs");
    await run("umount", folder);
  }
  if (await succeeds("prlimit", "--pid", String(Deno.pid))) kinds.push("file size limit");
  await Deno.remove(folder);
  return kinds;
}

/** Opens a small disk. */
export async function openSmallDisk(kind: DiskKind): Promise<SmallDisk> {
  const folder = await makeFolder();
  if (kind === "file size limit") return limitedFolder(folder);
  await run("mount", "-t", "tmpfs", "-o", `size=${TMPFS_SIZE}`, "none", folder);
  const filler = `${folder}/filler`;
  return {
    folder,
    launcher: [],
    fill: () => writeUntilFull(filler),
    free: () => Deno.remove(filler),
    async [Symbol.asyncDispose]() {
      await run("umount", folder);
      await Deno.remove(folder);
    },
  };
}

async function writeUntilFull(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true });
  const zeros = new Uint8Array(65_536);
  try {
    for (;;) await file.write(zeros);
  } catch (error) {
    assert(String(error).includes("No space left"), String(error));
  }
}

/** The limit is for writing behind it: what a log of commits already takes is not touched. */
function limitedFolder(folder: string): SmallDisk {
  const limit = (pid: number, bytes: string) => ["--pid", String(pid), `--fsize=${bytes}:`];
  return {
    folder,
    // Without it the signal for files that grow too large would end the process.
    launcher: ["sh", "-c", 'trap "" XFSZ; exec "$0" "$@"'],
    fill: (pid) => run("prlimit", ...limit(pid, "4096")),
    // The process may have ended, and its limit with it.
    free: async (pid) => void await succeeds("prlimit", ...limit(pid, "unlimited")),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

function makeFolder(): Promise<string> {
  return Deno.makeTempDir({ prefix: "runledger-" });
}

/** Runs a system command. */
export async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  assert(success, `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}

/** Whether a system command is there and does what it is told. */
export async function succeeds(command: string, ...args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(command, { args, stdout: "null", stderr: "null" }).output())
      .success;
  } catch {
    return false;
  }
}
