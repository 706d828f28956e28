/**
 * `GET /v1/runs.ndjson` and `GET /v1/runs.csv`: all runs that a question asks for, page by page. A page
 * is read when the client has taken the one before, so an export of any length takes no more memory
 * than one of a page.
 */
import type { TeamId } from "../domain/credentials.ts";
import { EXPORT_FORMS, type ExportFormat } from "../domain/export/run_export.ts";
import type { RunListPage, RunPosition } from "../domain/run/run_list.ts";
import { formatInstant } from "../domain/time.ts";
import { answerText, fail } from "./answer.ts";
import type { AppDeps, Handle, RequestContext } from "./context.ts";
import { OVERLOADED } from "./guards/room.ts";
import { queryOf } from "./query.ts";
import { PacedStreams } from "./paced_streams.ts";

/** Runs that are read at once. */
const RUNS_PER_PAGE = 500;
