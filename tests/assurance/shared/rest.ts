/** Instances without load: only the holder of the lease reads pending work. */
import { assert, assertEquals } from "@std/assert";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { certain } from "./calls.ts";
import { type Cluster, NO_FAULTS } from "./cluster.ts";

/** Run numbers of this part. */
const FIRST = 5_000_000_000;

/** Runs before the measurement. */
const RUNS = 20;

/** Stores some runs, waits until all is quiet, and counts requests for `ms` milliseconds. */
export async function rest(cluster: Cluster, ms: number): Promise<string> {
  cluster.faults = NO_FAULTS;
  const { access, instances } = cluster;
  for (let n = FIRST; n < FIRST + RUNS; n++) {
    await certain(access, "POST", "/v1/heartbeats", aHeartbeat(n));
    for (;;) {
      const { json } = await certain(access, "GET", `/v1/runs/${runId(n)}`);
      if (json.cost.state === "final") break;
    }
  }
  const countsOf = () =>
    instances.map((instance) => {
      const { pendingReads, proxy: { counts } } = instance;
      return { isHolder: instance === cluster.holder, pendingReads, ...counts };
    });
  const before = countsOf();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const after = countsOf();
  const lines = after.map(({ isHolder, pendingReads, reads, commits }, n) => {
    const was = before[n];
    assert(was !== undefined);
    assertEquals(isHolder, was.isHolder, "the lease has another holder");
    if (!isHolder) assertEquals(pendingReads, was.pendingReads, "reads of pending work");
    return `${isHolder ? "holder" : "another"}: ${reads - was.reads} reads, of which ` +
      `${pendingReads - was.pendingReads} of pending work, ${commits - was.commits} commits`;
  });
  return `in ${ms / 1_000} s: ${lines.join("; ")}`;
}
