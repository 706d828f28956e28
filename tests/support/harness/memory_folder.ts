/** Folders for stores that only the test's own process opens: in memory, where there is enough. */
import { statfsSync } from "node:fs";

const MEMORY = "/dev/shm";

/** Bytes that must be free in memory; the tests use less than a tenth at a time. */
const FREE_BYTES_MIN = 2 ** 30;

const dir = isFree() ? MEMORY : undefined;

/**
 * Makes a folder in memory, or a usual one. The runtime refuses paths in memory to a program
 * without all permissions, such as the service in a process of its own.
 */
export function makeMemoryFolder(): Promise<string> {
  return Deno.makeTempDir({ prefix: "runledger-", ...(dir && { dir }) });
}

function isFree(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= FREE_BYTES_MIN;
  } catch {
    return false;
  }
}
