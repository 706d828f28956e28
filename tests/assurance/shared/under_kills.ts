/** Calls of runs that are sent until each is acknowledged and processed, while instances are killed. */
import { assert } from "@std/assert";
import type { Random } from "../../../tools/random.ts";
import type { Post } from "../../support/builders/judged_runs.ts";
import { certain } from "./calls.ts";
import { type Cluster, type Faults, type Instance, NO_FAULTS } from "./cluster.ts";

const FAULTS: Faults = { lost: 0.1, unavailable: 0.02, jitterMs: 5 };

const CLIENTS = 8;

/** Maximum milliseconds until all costs are final: the lease's length and some work. */
const FINAL_MS_MAX = 30_000;

/** Milliseconds between reads. */
const PAUSE_MS = 50;

/** Minimum and maximum milliseconds between two kills. */
const KILL_MS = [20, 300] as const;

/** Kills of instances, one after the other. */
interface Killing {
  readonly kills: number;
  readonly random: Random;
}

/** A run, and its calls in order. */
export interface RunCalls {
  readonly id: string;
  readonly calls: readonly Post[];
}

/** Sends the calls of runs until each is acknowledged and processed, while instances are killed. */
export async function underKills(
  cluster: Cluster,
  { kills, random }: Killing,
  runs: readonly RunCalls[],
): Promise<void> {
  cluster.faults = FAULTS;
  const sending = send(cluster, runs);
  // A failure is thrown where the result is awaited.
  sending.catch(() => {});
  for (let n = 0; n < kills; n++) {
    await pause(random.int(...KILL_MS));
    const any = random.pick([...cluster.instances] as [Instance, ...Instance[]]);
    const killed = random.chance(0.5) ? cluster.holder ?? any : any;
    await killed.kill();
    await killed.start();
  }
  await sending;
  cluster.faults = NO_FAULTS;
  await areFinal(cluster, runs.map(({ id }) => id));
}

async function send(cluster: Cluster, runs: readonly RunCalls[]): Promise<void> {
  const next = runs.values();
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    for (const { calls } of next) {
      for (const [path, body] of calls) {
        const { status, json } = await certain(cluster.access, "POST", path, body);
        assert(status === 200 || status === 202, JSON.stringify(json));
      }
    }
  }));
}

/** Waits until the costs of runs are final, which is when their alerts are judged. */
async function areFinal(cluster: Cluster, ids: readonly string[]): Promise<void> {
  const startedMs = performance.now();
  for (const id of ids) {
    for (;;) {
      const { json } = await certain(cluster.access, "GET", `/v1/runs/${id}`);
      if (json.cost?.state === "final") break;
      assert(performance.now() - startedMs < FINAL_MS_MAX, `${id} is still not final`);
      await pause(PAUSE_MS);
    }
  }
}

export async function put(cluster: Cluster, path: string, body: object): Promise<void> {
  const { status, json } = await certain(cluster.access, "PUT", path, body);
  assert(status === 200 || status === 202, `${path}: ${status} ${JSON.stringify(json)}`);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
