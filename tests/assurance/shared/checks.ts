/**
 * Runs that are judged under load while instances are killed: each has the results of its parts, and
 * is counted once.
 */
import { assertEquals } from "@std/assert";
import type { Random } from "../../../tools/random.ts";
import { assertJudged, callsOfRun, JUDGING } from "../../support/builders/judged_runs.ts";
import { runId } from "../../support/builders/requests.ts";
import { certain } from "./calls.ts";
import type { Cluster } from "./cluster.ts";
import { put, underKills } from "./under_kills.ts";

/** Number of runs, and of kills while they are sent. */
interface CheckLoad {
  readonly runs: number;
  readonly kills: number;
  readonly random: Random;
}

/** Lets runs be judged under load, with kills. */
export async function checks(cluster: Cluster, load: CheckLoad): Promise<string> {
  for (const [slug, { expression }] of Object.entries(JUDGING)) {
    await put(cluster, `/v1/checks/${slug}`, { expression });
  }
  const numbers = Array.from({ length: load.runs }, (_, n) => n);
  await underKills(cluster, load, numbers.map((n) => ({ id: runId(n), calls: callsOfRun(n) })));
  await assertJudged(load.runs, async (path) => {
    const { status, json } = await certain(cluster.access, "GET", path);
    assertEquals(status, 200, JSON.stringify(json));
    return json;
  });
  await cluster.audit();
  cluster.assertNoDefects();
  return `${load.runs} runs judged by ${
    Object.keys(JUDGING).length
  } checks with ${load.kills} kills`;
}
