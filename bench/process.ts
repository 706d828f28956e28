/** What the system knows of a process. Only Linux tells; elsewhere there is nothing to show. */

/** Since its start, and now. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly rssMb: number;
}

/** Clock ticks a second in `/proc`, a constant of the kernel's interface. */
const TICKS = 100;

/** Reads what a process has used; null where the system does not tell. */
export async function usageOf(pid: number): Promise<Usage | null> {
  try {
    const [stat, status] = await Promise.all([
      Deno.readTextFile(`/proc/${pid}/stat`),
      Deno.readTextFile(`/proc/${pid}/status`),
    ]);
    return parseUsage(stat, status);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Reads `/proc/PID/stat` and `/proc/PID/status`. */
export function parseUsage(stat: string, status: string): Usage {
  // The second field is the program's name in parentheses and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  const rssKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return { cpuSeconds: (user + system) / TICKS, rssMb: rssKb / 1024 };
}

/** How long a process is looked at, and the CPU time that still counts as idle. */
const LOOK = { everyMs: 100, idleSeconds: 0.01 } as const;

/** Waits until a process has nothing left to do, such as a queue or a checkpoint. */
export async function untilIdle(pid: number, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  let before = await usageOf(pid);
  while (before !== null && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, LOOK.everyMs));
    const after = await usageOf(pid);
    if (after === null || after.cpuSeconds - before.cpuSeconds <= LOOK.idleSeconds) return;
    before = after;
  }
}
