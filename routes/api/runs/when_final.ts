/** `GET /v1/runs/{id}?wait=final`: answers once the run is closed and fully processed. */
import type { Handler, HandlerDeps } from "../../http/admission.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { readQuery } from "../../../domain/core/query.ts";
import { FINAL_WAIT_SECONDS } from "../../../domain/core/limits.ts";
import { isProcessed } from "../../../domain/runs/record.ts";
import { fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { answerRun, parseEventsPage } from "./runs.ts";

/** Answers with a run, immediately or when it is final. */
export const getRun: Handler = async (c, deps) => {
  const wait = parseWait(queryOf(c));
  if (!wait.ok) return fail(c, wait.problem);
  const id = parseRunId(c.req.param("id") ?? "");
  // An invalid request is refused without waiting.
  const isRefused = !id.ok || !parseEventsPage(queryOf(c)).ok;
  if (wait.value === null || isRefused) return await answerRun(c, deps);
  const { team } = c.get("principal");
  if (await isFinal(deps, team, id.value)) return await answerRun(c, deps);
  return await deps.admission.park(c, wait.value * 1_000, async (signal) => {
    using watch = deps.changes.watch(team.id, id.value);
    while (!signal.aborted && !await isFinal(deps, team, id.value)) await watch.next(signal);
    return await answerRun(c, deps);
  });
};

/** Returns whether a run is fully processed. True for an unknown run, which is answered without waiting. */
async function isFinal({ runs }: HandlerDeps, team: Team, id: RunId): Promise<boolean> {
  const run = await runs.read(team, id, null, 0);
  return run === null || isProcessed(run);
}

/** Parses the seconds to wait for a run; null to answer immediately. */
function parseWait(text: string): Parsed<number | null> {
  return readQuery(text, (query) => {
    const wait = query.choice("wait", ["final"]);
    const seconds = query.integer("timeout", { min: 0, ...FINAL_WAIT_SECONDS });
    return wait === undefined ? null : seconds;
  });
}
