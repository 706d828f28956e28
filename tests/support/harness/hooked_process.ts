/** A process on a store with hooks around its commits. */
import { assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import type { HeartbeatRequest } from "../../../domain/runs/decide.ts";
import { RecentHeads } from "../../../kv/recent_heads.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import type { Store } from "../../../kv/store.ts";
import type { Write } from "../../../kv/writer/group.ts";
import { aCall, assertSumsAddUp, run, TEAM } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { StoreProcess } from "./store_process.ts";
import { Gate } from "./worker_harness.ts";
import { overStore } from "./temp_store.ts";

type Commit = (write: Write) => Promise<string | null>;

/** One process with heads of its own, and hooks around its commits. */
export class HookedProcess extends StoreProcess {
  static readonly test = overStore<HookedProcess>((store) => HookedProcess.ready(store));

  /** Reads of runs' rows. */
  reads = 0;
  commit: (write: Write, commit: Commit) => Promise<string | null> = (write, commit) =>
    commit(write);

  constructor(store: Store, memoryMb = 600) {
    // deno-lint-ignore prefer-const -- set after `super`, before the first call of a hook
    let self!: HookedProcess;
    super({
      ...store,
      heads: new RecentHeads(new Memory(memoryMb), true),
      writer: new Proxy(store.writer, {
        get: (target, name) =>
          name === "commit"
            ? (write: Write) => self.commit(write, (write) => target.commit(write))
            : Reflect.get(target, name, target),
      }),
      reader: new Proxy(store.reader, {
        get: (target, name) => {
          const member = Reflect.get(target, name, target);
          if (typeof member !== "function") return member;
          return (...args: unknown[]) => {
            const [range] = args as [{ readonly start?: Deno.KvKey }];
            if (name === "list" && range.start?.[0] === "run") self.reads++;
            return member.apply(target, args);
          };
        },
      }),
    });
    self = this;
  }

  /** Opens a process whose worker has nothing to do: it uses heads from now on. */
  static async ready(store: Store, memoryMb?: number): Promise<HookedProcess> {
    const process = new HookedProcess(store, memoryMb);
    await process.work();
    return process;
  }

  /** Does the first matching commit by a hook, and the others as usual. */
  once(hook: (write: Write, commit: Commit) => Promise<string | null>, of = isPart): void {
    const before = this.commit;
    this.commit = (write, commit) => {
      if (!of(write)) return commit(write);
      this.commit = before;
      return hook(write, commit);
    };
  }

  /** Processes everything, then compares summaries, roll-ups and totals with the stored runs. */
  async assertExact(expected: Record<number, Expected>): Promise<void> {
    await this.work();
    await assertSumsAddUp(this.store);
    assertEquals(await this.summaries(Object.keys(expected).map(Number)), expected);
  }

  async summaries(ns: readonly number[]): Promise<Record<number, Expected>> {
    const heads = await readHeads({ store: this.store, team: TEAM.id }, ns.map(run));
    return Object.fromEntries(heads.map(({ summary }, i) => {
      const { revision, contribution } = summary ?? {};
      const { labels, events, cost = 0n } = contribution ?? {};
      return [ns[i], [labels?.status, revision, events, Number(cost)]];
    }));
  }
}

/** Status, revision, events and picodollars of a run's summary. */
type Expected = readonly [
  status: string | undefined,
  revision: number | undefined,
  events: number | undefined,
  cost: number,
];

/** Returns whether a write stores a part of a run. */
function isPart({ pending = [] }: Write): boolean {
  return pending.length > 0;
}

/** Returns whether a write stores summaries. */
function isProjection({ sets = [] }: Write): boolean {
  return sets.some(({ key }) => key[0] === "run" && key[3] === "summary");
}

export function append({ runs }: HookedProcess, n: number, ...calls: number[]) {
  return runs.append(TEAM, run(n), calls.map((call) => aCall(call)), NOON);
}

export function beat(
  { runs }: HookedProcess,
  n: number,
  status: HeartbeatRequest["status"] = "ok",
  fields: Partial<HeartbeatRequest> = {},
) {
  return runs.heartbeat(TEAM, { id: run(n), agent: "a", status, reported: {}, ...fields }, NOON);
}

/** Returns the cost of calls with 3 picodollars for each of `n` input tokens, and 5 for their output token. */
export function costOf(...calls: number[]): number {
  return calls.reduce((sum, n) => sum + 3 * n + 5, 0);
}

/** A hook that waits at a gate before or after its commit. */
export function waitAt(gate: Gate, at: "before" | "after") {
  return async (write: Write, commit: Commit): Promise<string | null> => {
    if (at === "before") await gate.pass();
    const version = await commit(write);
    if (at === "after") await gate.pass();
    return version;
  };
}

/**
 * Lets the worker process everything, and does something else before or after its next summaries
 * are stored.
 */
export async function throughGate(
  process: HookedProcess,
  at: "before" | "after",
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const gate = new Gate();
  process.once(waitAt(gate, at), isProjection);
  const working = process.work();
  await gate.reached();
  await meanwhile();
  gate.open();
  await working;
}
