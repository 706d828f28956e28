/** `GET /v1/runs/{id}?wait=final`: the answer comes once everything behind the run's close is done. */
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import { type Parsed, refuse } from "../../../domain/core/errors.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { FINAL_WAIT_SECONDS } from "../../../domain/core/limits.ts";
import { isProcessed } from "../../../domain/runs/record.ts";
import { fail } from "../../http/answer.ts";
import type { Handle } from "../../http/context.ts";
import type { HandlerDeps } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import { parseEventsPage } from "./runs.ts";

/** Lets a request for a run wait, if it asks for that, before `show` answers it. */
export function whenFinal(deps: HandlerDeps, show: Handle): Handle {
  const { runs, changes } = deps;

  /** Whether nothing is to be waited for: also a run that is not there is shown at once. */
  async function isDone(c: Parameters<Handle>[0], id: RunId): Promise<boolean> {
    const run = await runs.read(c.get("principal").team, id, null, 0);
    return run === null || isProcessed(run);
  }

  async function untilDone(
    c: Parameters<Handle>[0],
    team: TeamId,
    id: RunId,
    signal: AbortSignal,
  ): Promise<void> {
    using watch = changes.watch(team, id);
    while (!signal.aborted && !await isDone(c, id)) await watch.next(signal);
  }

  return async (c) => {
    const wait = parseWait(queryOf(c));
    if (!wait.ok) return fail(c, wait.problem);
    const id = parseRunId(c.req.param("id") ?? "");
    // What `show` refuses, it refuses at once.
    const isRefused = !id.ok || !parseEventsPage(queryOf(c)).ok;
    if (wait.value === null || isRefused || await isDone(c, id.value)) return await show(c);
    return await deps.admission.park(c, wait.value * 1_000, async (signal) => {
      await untilDone(c, c.get("principal").team.id, id.value, signal);
      return await show(c);
    });
  };
}

/** How many seconds to wait for a run; null for not at all. */
function parseWait(query: string): Parsed<number | null> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  const wait = parameters.value.get("wait");
  if (wait !== undefined && wait !== "final") {
    return refuse("invalid_field", '"wait" must be "final"', "wait");
  }
  const sent = parameters.value.get("timeout") ?? String(FINAL_WAIT_SECONDS.default);
  const seconds = /^\d{1,3}$/.test(sent) ? Number(sent) : -1;
  if (seconds < 0 || seconds > FINAL_WAIT_SECONDS.max) {
    const message = `"timeout" must be an integer from 0 to ${FINAL_WAIT_SECONDS.max}`;
    return refuse("invalid_field", message, "timeout");
  }
  return { ok: true, value: wait === undefined ? null : seconds };
}
