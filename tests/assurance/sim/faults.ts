/** Injects faults at commits of a world: one at a chosen commit, or as a sequence generates them. */
import { stub } from "@std/testing/mock";
import fc from "fast-check";
import { STORAGE_DEADLINE_MS } from "../../../domain/core/limits.ts";
import { BACK_ENDS, LOCKED_RETRY } from "../../../kv/base/limits.ts";
import { type Fault, faultKv, FAULTS } from "../../support/fakes/fault_kv.ts";
import { World, type WorldOptions } from "./world.ts";

/** A stalled commit waits for this many other commits, or turns of the event loop. */
const STALL = { commits: 4, turns: 12 } as const;

/** Kinds of commit faults; the last one continues until the service gives up. */
export const KINDS = [
  "throw",
  "commit then throw",
  "lost",
  "repeat",
  "stall",
  "stall then throw",
  "full",
  "locked",
  "locked permanently",
] as const;
type Kind = typeof KINDS[number];

/** Generates the faults of the first commits of a sequence; most sequences have none. */
export function anyFaults(maxLength: number): fc.Arbitrary<Fault[]> {
  const fault = fc.oneof(
    { weight: 4, arbitrary: fc.constant<Fault>("none") },
    { weight: 1, arbitrary: fc.constantFrom(...FAULTS) },
  );
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant<Fault[]>([]) },
    { weight: 1, arbitrary: fc.array(fault, { maxLength, size: "max" }) },
  );
}

/** Decides what happens to each commit. */
interface Plan {
  next(): Fault;
  /** True if the store may repeat commits, as a shared KV does. */
  readonly mayRepeat: boolean;
}

/** One kind of fault at one commit. */
export class OneFault implements Plan {
  commits = 0;
  #isUnderWay = false;

  constructor(readonly kind: Kind | "none", readonly at: number) {}

  get mayRepeat(): boolean {
    return this.kind === "repeat";
  }

  /** Starts counting with the next commit. */
  start(): void {
    this.#isUnderWay = true;
  }

  next(): Fault {
    if (!this.#isUnderWay) return "none";
    const since = this.commits++ - this.at;
    if (this.kind === "locked permanently") {
      return since >= 0 && since < LOCKED_RETRY.attemptsMax ? "locked" : "none";
    }
    return since === 0 ? this.kind : "none";
  }
}

/** Makes timers fire immediately, so that waits for a lock or a job take no time. */
export function hurriedTimers(): Disposable {
  const { setTimeout } = globalThis;
  const hurried = (callback: () => void) => setTimeout(callback, 0);
  return stub(globalThis, "setTimeout", hurried as typeof setTimeout);
}

export async function openFaulty(plan: Plan, options: WorldOptions): Promise<World> {
  let commits = 0;
  const next = () => {
    commits++;
    return plan.next();
  };
  const stalled = async () => {
    const last = commits + STALL.commits;
    // The caller gets an error, and retries while the commit is still in flight.
    world.timers.advance(STORAGE_DEADLINE_MS);
    for (let turn = 0; turn < STALL.turns && commits < last; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  const wrap = (kv: Deno.Kv) => faultKv(kv, next, stalled);
  const backEnd = BACK_ENDS[plan.mayRepeat ? "remote" : "embedded"];
  const world: World = await World.open({ ...options, backEnd, wrap });
  return world;
}
