/** `GET /v1/runs/{id}?wait=final`: the answer comes once everything behind the run's close is done. */
import type { Handler, HandlerDeps } from "../../http/admission.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { type Parsed, refuse } from "../../../domain/core/errors.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { parseInteger, parseQuery } from "../../../domain/core/query.ts";
import { FINAL_WAIT_SECONDS } from "../../../domain/core/limits.ts";
import { isProcessed } from "../../../domain/runs/record.ts";
import { fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { answerRun, parseEventsPage } from "./runs.ts";

/** Answers with a run, at once or when it is final. */
export const getRun: Handler = async (c, deps) => {
  const wait = parseWait(queryOf(c));
  if (!wait.ok) return fail(c, wait.problem);
  const id = parseRunId(c.req.param("id") ?? "");
  // A request that would be refused is refused at once.
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

/** Returns whether there is nothing to wait for; a run that is not stored is answered at once. */
async function isFinal({ runs }: HandlerDeps, team: Team, id: RunId): Promise<boolean> {
  const run = await runs.read(team, id, null, 0);
  return run === null || isProcessed(run);
}

/** How many seconds to wait for a run; null for not at all. */
function parseWait(query: string): Parsed<number | null> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  const wait = parameters.value.get("wait");
  if (wait !== undefined && wait !== "final") {
    return refuse("invalid_field", '"wait" must be "final"', "wait");
  }
  const seconds = parseInteger(parameters.value, "timeout", { min: 0, ...FINAL_WAIT_SECONDS });
  if (!seconds.ok) return seconds;
  return { ok: true, value: wait === undefined ? null : seconds.value };
}
