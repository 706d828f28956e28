/** A running sequence with checks: the model's side, and the complete comparison. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { readJson } from "./alert_running.ts";
import { type Checks, failedRuns, judgeChanged, NO_CHECKS, statisticsOf } from "./check_state.ts";
import { type Result } from "./checks.ts";
import { passAllDeadlines, type Play } from "./running.ts";
import { type Fields, instant } from "./shape.ts";
import type { World } from "./world.ts";

/** Range of days that contains every run of a sequence. */
const DAYS = "from=2026-11-01&to=2027-01-15";

const FAILURES_MAX = 20;

/** The model's side of a running sequence, with checks. */
export interface CheckPlay extends Play {
  checks: Checks;
  readonly deleted: Set<string>;
}

export function beginChecks(play: Play): CheckPlay {
  return { ...play, checks: NO_CHECKS, deleted: new Set() };
}

/** Does everything that waits, in the service and in the model. */
export async function judged(play: CheckPlay, world: World): Promise<void> {
  await passAllDeadlines(play, world);
  play.checks = judgeChanged(play.checks, play.state);
}

/** Does everything that waits, and compares results, lists and statistics with the model. */
export async function compareChecks(play: CheckPlay, world: World): Promise<void> {
  await judged(play, world);
  const { checks, state } = play;
  for (const id of Object.keys(state.runs)) {
    const { checks: results, cost, processing } = await readJson(
      world,
      `/v1/runs/${id}`,
    );
    const wanted = checks.results[id] ?? [];
    assertEquals<unknown>(results.map(shownOf), wanted, `results of ${id}`);
    for (const { revision } of results) assertEquals(revision, cost.revision, `revision of ${id}`);
    const stage = processing.find(({ stage }: Fields) => stage === "checks")?.state ?? null;
    const stages = wanted.length > 0 ? ["done"] : [null, "skipped", "done"];
    assert(stages.includes(stage), `${id}: stage ${stage} with ${wanted.length} results`);
  }
  const { runs } = await readJson(world, "/v1/runs?has=failed_check&limit=100");
  const ids = runs.map(({ id }: Fields) => id).sort();
  assertEquals(ids, failedRuns(checks), "runs with a failed check");
  for (const [slug, { id }] of Object.entries(checks.checks)) {
    const stats = await readJson(world, `/v1/checks/${slug}/stats?${DAYS}`);
    const { days, failures, failingSinceMs } = statisticsOf(checks, state, id);
    assertEquals<unknown>(stats.days, days, `days of ${slug}`);
    assertEquals<unknown>(
      stats.failures.map(({ run_id, at }: Fields) => ({ run_id, at })),
      failures.slice(0, FAILURES_MAX).map(({ run_id, atMs }) => ({ run_id, at: instant(atMs) })),
      `failures of ${slug}`,
    );
    const since = failingSinceMs === null ? null : instant(failingSinceMs);
    assertEquals(stats.failing_since, since, `${slug} fails since`);
  }
  const audit = await verifyStore(world.store, { team: world.team.id, pauseMs: 0 });
  assertEquals(audit.differences, []);
}

/** Returns a result without its texts, which must agree with its outcome. */
function shownOf(result: Fields): Fields {
  const { got, message, at, revision: _, ...shown } = result;
  const { status } = shown as unknown as Result;
  assertEquals(message === null, status === "pass", `message of ${JSON.stringify(result)}`);
  assertEquals(got === null, status === "skipped", `got of ${JSON.stringify(result)}`);
  assert(typeof at === "string", JSON.stringify(result));
  return shown;
}
