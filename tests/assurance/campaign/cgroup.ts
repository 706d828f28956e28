/** A control group that ends a process beyond a limit of memory, where the system has one to give. */

/** Where groups are: of version 2 first, then of version 1. */
const KINDS = [
  { root: "/sys/fs/cgroup", probe: "cgroup.controllers", limit: "memory.max" },
  { root: "/sys/fs/cgroup/memory", probe: "cgroup.procs", limit: "memory.limit_in_bytes" },
] as const;

/** A group for one process after another. */
export class MemoryGroup implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  /** Makes a group with a limit; a text says why there is none. */
  static async create(bytesMax: number): Promise<MemoryGroup | string> {
    const reasons: string[] = [];
    for (const { root, probe, limit } of KINDS) {
      const folder = `${root}/runledger-attack-${Deno.pid}`;
      let made = false;
      try {
        await Deno.stat(`${root}/${probe}`);
        await Deno.mkdir(folder);
        made = true;
        await Deno.writeTextFile(`${folder}/${limit}`, String(bytesMax), { create: false });
        return new MemoryGroup(folder);
      } catch (error) {
        if (made) await Deno.remove(folder).catch(() => {});
        reasons.push(error instanceof Error ? error.message : String(error));
      }
    }
    return reasons.join("; ");
  }

  /** The file that takes the id of a process. */
  get processes(): string {
    return `${this.folder}/cgroup.procs`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder).catch(() => {});
  }
}
