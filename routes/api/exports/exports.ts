/**
 * `GET /v1/runs.ndjson` and `GET /v1/runs.csv`: all runs that match a query. Each page is read when the
 * client has received the previous one, so an export of any length keeps one page in memory.
 */
import { z } from "zod";
import { csvLine, textCell } from "../../../domain/core/csv.ts";
import { formatInstant, formatInstantOrNull } from "../../../domain/core/time.ts";
import { dollarsText } from "../../../domain/pricing/money.ts";
import type { RunListPage, RunListRow, RunPosition } from "../../../domain/runs/list.ts";
import { parseRunsQuery } from "../../../domain/runs/list_query.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler, HandlerDeps } from "../../http/admission.ts";
import { answerText, emptyStream, fail, OVERLOADED } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { isStillLive } from "../../http/credential.ts";
import { logFailure } from "../../http/dispatch.ts";
import { BrokenOff } from "../../http/paced_streams.ts";
import { queryOf } from "../../http/query.ts";
import { paced } from "../../http/rate.ts";
import { answered, endpoints, textBody } from "../../openapi/describe.ts";
import * as shape from "../../openapi/wire.ts";
import { exportedRun } from "../runs/run_json.ts";
import { parseRunsCursor, RUN_FILTERS } from "../runs/run_list.ts";

/** Writer of a format. */
interface ExportForm {
  /** Content type. */
  readonly type: string;
  /** Text before the first run. */
  readonly head: string;
  /** Writes one run. */
  readonly line: (run: RunListRow) => string;
  /** Returns the text after the last run, which truncated exports lack. CSV does not allow one. */
  readonly tail: (runs: number) => string;
}

/** A column of CSV: the cell of a run is safe for spreadsheets, and null for none. */
type Column = readonly [name: string, cellOf: (run: RunListRow) => string | number | bigint | null];

const COLUMNS: readonly Column[] = [
  ["id", ({ id }) => id],
  ["kind", ({ kind }) => kind],
  ["agent", ({ agent }) => agent && textCell(agent)],
  ["status", ({ status }) => status],
  ["closed_by", ({ closedBy }) => closedBy],
  ["started_at", ({ startedAt }) => formatInstantOrNull(startedAt)],
  ["finished_at", ({ finishedAt }) => formatInstantOrNull(finishedAt)],
  ["received_at", ({ receivedAt }) => formatInstantOrNull(receivedAt)],
  ["duration_ms", ({ durationMs }) => durationMs],
  ["customer_id", ({ customerId }) => customerId && textCell(customerId)],
  ["feature", ({ feature }) => feature && textCell(feature)],
  ["cost_usd", ({ cost }) => dollarsText(cost.amount)],
  ["cost_state", ({ cost }) => cost.state],
  ["cost_revision", ({ cost }) => cost.revision],
  ["unpriced_models", ({ cost }) => textCell(cost.unpricedModels.join(" "))],
  ["cost_flags", ({ cost }) => cost.flags.join(" ")],
  ["flags", ({ flags }) => flags.join(" ")],
  ["has", ({ has }) => has.join(" ")],
  ["events", ({ usage }) => usage.events],
  ["llm_calls", ({ usage }) => usage.llmCalls],
  ["tool_calls", ({ usage }) => usage.toolCalls],
  ["logs", ({ usage }) => usage.logs],
  ["errors", ({ usage }) => usage.errors],
  ["input_tokens", ({ usage }) => usage.inputTokens],
  ["output_tokens", ({ usage }) => usage.outputTokens],
  ["cached_input_tokens", ({ usage }) => usage.cachedInputTokens],
];

/** Column names in order. */
export const EXPORT_COLUMNS: readonly string[] = COLUMNS.map(([name]) => name);

/** Last line of NDJSON. */
const exportEnd = shape.object<{ readonly runs: number }>("ExportEnd", {
  end: shape.wire(z.literal(true))(() => true as const),
  runs: shape.count("runs", "Number of lines before this one."),
});

/** Writers by format. */
export const EXPORT_FORMS: Readonly<Record<"ndjson" | "csv", ExportForm>> = {
  ndjson: {
    type: "application/x-ndjson",
    head: "",
    line: (run) => `${exportedRun.write(run)}\n`,
    tail: (runs) => `${exportEnd.write({ runs })}\n`,
  },
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    head: csvLine(EXPORT_COLUMNS),
    line: (run) => csvLine(COLUMNS.map(([, cellOf]) => String(cellOf(run) ?? ""))),
    tail: () => "",
  },
};

/** Runs read per page. */
const RUNS_PER_PART = 100;

/** Bytes that an export reserves as a response in flight: one page of runs with many labels. */
const PART_BYTES = 262_144;

/** Creates the check that an export's client is still authorized. */
type MakeCheck = (deps: AppDeps, c: RequestContext) => () => Promise<boolean>;

/**
 * Creates the handler of a format.
 *
 * @param isLive creates the check of the request's credential or session, run before each page
 */
export function exportRuns(
  format: keyof typeof EXPORT_FORMS,
  isLive: MakeCheck = isStillLive,
): Handler {
  const form = EXPORT_FORMS[format];
  return (c, deps, { team }) => {
    const { environment, runList } = deps;
    const nowMs = environment.now();
    const request = parseRunsQuery(queryOf(c), nowMs, parseRunsCursor);
    const { query, isWindowDefault, after } = request;
    // A list without a range is limited to one day; an export searches everything.
    const filters = isWindowDefault ? { ...query, from: null } : query;
    const checkLive = isLive(deps, c);
    const readPaced = paced(deps, c);
    const parts = (signal: AbortSignal) =>
      partsOf(form, after, async (from) => {
        if (!await checkLive()) throw new BrokenOff("The credential is no longer valid");
        return await readPaced(signal, () => runList.page(team, filters, from, RUNS_PER_PART));
      });
    // HEAD sends no body, so no export is started.
    const body = c.req.method === "HEAD" ? emptyStream() : startExport(deps, c, parts);
    if (body === null) return fail(c, OVERLOADED);
    const name = `runs-${formatInstant(nowMs).slice(0, 10)}.${format}`;
    return answerText(c, 200, body, form.type, {
      "Content-Disposition": `attachment; filename="${name}"`,
      "Cache-Control": "no-store",
    });
  };
}

/** Starts an export; null when too many are in progress. */
function startExport(
  deps: HandlerDeps,
  c: RequestContext,
  parts: (signal: AbortSignal) => AsyncIterator<Uint8Array>,
): ReadableStream<Uint8Array> | null {
  const { exports, exportStreams, answers } = deps.admission;
  const { id } = c.get("principal").team;
  const slot = exports.acquire(id);
  if (slot === null) return null;
  const over = new AbortController();
  const flight = answers.begin(id, () => stream.end("Another team needs the memory"));
  const onEnd = () => {
    over.abort(new BrokenOff("The export is over"));
    slot[Symbol.dispose]();
    flight[Symbol.dispose]();
  };
  if (!flight.take(PART_BYTES)) {
    onEnd();
    return null;
  }
  const onFailure = (error: unknown) => logFailure(deps, c.get("requestId"), error);
  const stream = exportStreams.begin(parts(over.signal), onEnd, onFailure);
  return stream.body;
}

/** Yields an export page by page; a page is empty when the filters reject all its runs. */
async function* partsOf(
  form: ExportForm,
  after: RunPosition | null,
  read: (from: RunPosition | null) => Promise<RunListPage>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(form.head);
  let runs = 0;
  let from: RunPosition | null | "end" = after;
  while (from !== "end") {
    const page = await read(from);
    runs += page.rows.length;
    yield encoder.encode(page.rows.map(form.line).join(""));
    from = page.next ?? "end";
  }
  yield encoder.encode(form.tail(runs));
}

const tableRow = z.object(
  Object.fromEntries(EXPORT_COLUMNS.map((column) => [column, z.string()])),
).meta({
  id: "ExportedRow",
  description: "The columns in order. A cell is empty for null; lists are joined with spaces.",
});

const HEADERS = ["Content-Disposition", "Cache-Control"] as const;

const SHARED = "Streams all runs that match the filters, newest first. There is no default time " +
  "window: without filters, all runs are exported. Amounts are decimal text, exact to the " +
  "picodollar. An export that fails aborts the connection instead of ending the response " +
  "normally. A team may run 4 exports concurrently. ";

export const EXPORT_ENDPOINTS = endpoints("Runs", {
  exportRuns: {
    route: "GET /v1/runs.ndjson",
    access: teamKey("read"),
    handler: exportRuns("ndjson"),
    summary: "Export runs as NDJSON",
    description: SHARED + 'The last line is `{"end":true,"runs":…}` with the number of runs.',
    query: RUN_FILTERS,
    answers: [{
      ...answered(200, "One JSON object per line.", textBody("application/x-ndjson"), ...HEADERS),
      parts: { line: exportedRun.schema, last_line: exportEnd.schema },
    }],
    errors: ["overloaded"],
  },
  exportRunsAsCsv: {
    route: "GET /v1/runs.csv",
    access: teamKey("read"),
    handler: exportRuns("csv"),
    summary: "Export runs as CSV",
    description: SHARED +
      "CSV as in RFC 4180, with the column names on the first line. Client-supplied text that a " +
      "spreadsheet would treat as a formula is prefixed with an apostrophe.",
    query: RUN_FILTERS,
    answers: [{
      ...answered(200, "The table.", textBody("text/csv"), ...HEADERS),
      parts: { row: tableRow },
    }],
    errors: ["overloaded"],
  },
});
