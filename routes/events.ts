/** `POST /v1/runs/{id}/events`. */
import { rawOf } from "../domain/input/json.ts";
import { parseRunId } from "../domain/input/parse.ts";
import { parseEvents } from "../domain/input/parse_events.ts";
import { answer, fail } from "./answer.ts";
import type { AppDeps, Handle } from "./context.ts";
import { conflictProblem } from "./runs.ts";

export function appendEvents({ runs, environment }: AppDeps): Handle {
  return async (c) => {
    const id = parseRunId(c.req.param("id") ?? "");
    if (!id.ok) return fail(c, id.problem);
    const events = parseEvents(c.get("body"));
    if (!events.ok) return fail(c, events.problem);
    const { team } = c.get("principal");
    const outcome = await runs.append(team, id.value, events.value, environment.now());
    if (outcome.kind === "conflict") return fail(c, conflictProblem(id.value, outcome));
    const { accepted, duplicates } = outcome;
    return answer(c, 202, rawOf({ accepted, duplicates }));
  };
}
