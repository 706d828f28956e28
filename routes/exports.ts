/**
 * `GET /v1/runs.ndjson` and `GET /v1/runs.csv`: all runs that a query asks for. A page of them is read
 * when the client has taken the one before, so an export of any length holds one page.
 */
import type { Team } from "../domain/credentials.ts";
import type { RunListStore, RunPosition, RunsQuery } from "../domain/run/run_list.ts";
import { parseRunsQuery } from "../domain/run/runs_query.ts";
import { formatInstant } from "../domain/time.ts";
import { answerStream, fail } from "./answer.ts";
import type { AppDeps, Handle } from "./context.ts";
import { EXPORT_FORMS, type ExportForm, type ExportFormat } from "./export_forms.ts";
import { OVERLOADED } from "./guards/room.ts";
import { PacedStreams } from "./paced_streams.ts";
import { logFailure } from "./pipeline.ts";
import { queryOf } from "./query.ts";
import { parseRunsCursor } from "./run_list.ts";

/** Runs that are read at once. */
const RUNS_PER_PART = 500;

/** Makes the handlers of all forms; together they are bounded. */
export function createExports(deps: AppDeps): (format: ExportFormat) => Handle {
  const streams = new PacedStreams({
    draining: () => deps.draining(),
    failed: (requestId, error) => logFailure(deps, requestId, error),
  });
  return (format) => exportRuns(deps, streams, format);
}

function exportRuns(
  { runList, environment }: AppDeps,
  streams: PacedStreams,
  format: ExportFormat,
): Handle {
  const form = EXPORT_FORMS[format];
  return (c) => {
    const nowMs = environment.now();
    const request = parseRunsQuery(queryOf(c), nowMs, parseRunsCursor);
    if (!request.ok) return fail(c, request.problem);
    const { team } = c.get("principal");
    const { query, isWindowDefault, after } = request.value;
    // A list looks at one day where it would have to look at everything; an export has the time.
    const asked = isWindowDefault ? { ...query, from: null } : query;
    const parts = partsOf(runList, form, team, asked, after);
    // HEAD takes nothing, so nothing is begun for it.
    const body = c.req.method === "HEAD"
      ? undefined
      : streams.begin(team.id, c.get("requestId"), parts);
    if (body === null) return fail(c, OVERLOADED);
    const name = `runs-${formatInstant(nowMs).slice(0, 10)}.${format}`;
    return answerStream(c, body, form.type, {
      "Content-Disposition": `attachment; filename="${name}"`,
      "Cache-Control": "no-store",
    });
  };
}

/** The text of an export in parts; some are empty, where much is passed by. */
async function* partsOf(
  runList: RunListStore,
  form: ExportForm,
  team: Team,
  query: RunsQuery,
  after: RunPosition | null,
): AsyncGenerator<string> {
  yield form.head;
  let runs = 0;
  let from: RunPosition | null | "end" = after;
  while (from !== "end") {
    const page = await runList.page(team, query, from, RUNS_PER_PART);
    runs += page.rows.length;
    yield page.rows.map(form.line).join("");
    from = page.next ?? "end";
  }
  yield form.tail(runs);
}
