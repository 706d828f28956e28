/** A small disk that a test can fill completely, and free again. */
import { assert } from "@std/assert";
import type { Launcher } from "./process.ts";

/** A small disk. Always `await using`; end the processes on it first. */
interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  readonly launcher: Launcher;
  /** Leaves a process no space. */
  fill(pid: number): Promise<void>;
  /** Frees the space. */
  free(pid: number): Promise<void>;
}

/**
 * Kind of a small disk: a file system of a few megabytes, which only root may mount, or a limit on
 * file size, which any user may set for their processes.
 */
export type DiskKind = "tmpfs" | "file size limit";

/** More than a little-used service needs: its write-ahead log may grow to 4 MiB. */
const TMPFS_SIZE = "24m";

/** Returns the kinds of small disks that this machine supports, the most realistic first. */
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

/** The limit applies to appends: the existing part of the write-ahead log stays writable. */
function limitedFolder(folder: string): SmallDisk {
  const limit = (pid: number, bytes: string) => ["--pid", String(pid), `--fsize=${bytes}:`];
  return {
    folder,
    // Otherwise the signal for files that grow too large would end the process.
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

export async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  assert(success, `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}

export async function succeeds(command: string, ...args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(command, { args, stdout: "null", stderr: "null" }).output())
      .success;
  } catch {
    return false;
  }
}
