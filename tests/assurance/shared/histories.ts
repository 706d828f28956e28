/** Histories of clients that race for the same runs through all instances. */
import { dayOf } from "../../../domain/core/time.ts";
import { assert } from "@std/assert";
import { assertTotals } from "../../support/oracles/totals.ts";
import { Clients } from "../linearizability/clients.ts";
import { lineOf } from "../linearizability/main.ts";
import { type Cluster, type Faults, NO_FAULTS } from "./cluster.ts";

const FAULTS: Faults = { lost: 0.05, unavailable: 0.05, jitterMs: 20 };

/** Races 32 clients; every history must have an order that explains each answer. */
export async function histories(
  cluster: Cluster,
  operations: number,
  seed: string,
): Promise<string> {
  const { access } = cluster;
  cluster.faults = FAULTS;
  const startedMs = Date.now();
  const service = { url: () => Promise.resolve(access.url), killAndStart: () => {} };
  const { key } = access;
  const options = { service, key, seed, operations, killEvery: Infinity, onOperation: () => {} };
  const clients = new Clients(options, startedMs);
  await clients.run();
  const { done, finding } = clients;
  if (finding !== null) {
    const lines = [`Run ${finding.run} cannot be explained: ${finding.why}`];
    for (const list of [finding.operations, finding.history]) lines.push("", ...list.map(lineOf));
    throw new Error(lines.join("\n"));
  }
  cluster.faults = NO_FAULTS;
  await assertTotals(access, [dayOf(startedMs), dayOf(Date.now())], done.totals);
  await cluster.audit();
  cluster.assertNoDefects();
  assert(done.unknown > 0, "no call had an unknown outcome");
  return `${done.operations} calls on ${done.runs} runs explained, of which ${done.unknown} had ` +
    "an unknown outcome at first; usage and spend are exact, 0 differences";
}
