/** Memory limit for a process by a control group, where the system allows one. */

/** Root folders of control groups: version 2 first, then version 1. */
const KINDS = [
  { root: "/sys/fs/cgroup", probe: "cgroup.controllers", limit: "memory.max" },
  { root: "/sys/fs/cgroup/memory", probe: "cgroup.procs", limit: "memory.limit_in_bytes" },
] as const;

/** A control group that holds one process after another. */
export class MemoryGroup implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  /** Creates a group with a limit; returns the reason as text if that fails. */
  static async create(bytesMax: number): Promise<MemoryGroup | string> {
    const reasons: string[] = [];
    for (const { root, probe, limit } of KINDS) {
      const folder = `${root}/runledger-attack-${Deno.pid}`;
      let created = false;
      try {
        await Deno.stat(`${root}/${probe}`);
        await Deno.mkdir(folder);
        created = true;
        await Deno.writeTextFile(`${folder}/${limit}`, String(bytesMax), { create: false });
        return new MemoryGroup(folder);
      } catch (error) {
        if (created) await Deno.remove(folder).catch(() => {});
        reasons.push(error instanceof Error ? error.message : String(error));
      }
    }
    return reasons.join("; ");
  }

  /** File to which a process id is written to join the group. */
  get processes(): string {
    return `${this.folder}/cgroup.procs`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder).catch(() => {});
  }
}
