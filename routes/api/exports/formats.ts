/** A run as one line of an export. */
import { csvLine, textCell } from "../../../domain/core/csv.ts";
import { z } from "zod";
import { dollarsText } from "../../../domain/pricing/money.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { formatInstantOrNull } from "../../../domain/core/time.ts";
import { countValue, objectValue, wire } from "../../openapi/wire.ts";
import { exportedRun } from "../runs/run_json.ts";

/** Formats of an export. */
const EXPORT_FORMATS = ["ndjson", "csv"] as const;

/** One of {@link EXPORT_FORMATS}. */
export type ExportFormat = typeof EXPORT_FORMATS[number];

/** Writer of a format. */
export interface ExportForm {
  /** Content type. */
  readonly type: string;
  /** Text before the first run. */
  readonly head: string;
  /** Writes one run. */
  readonly line: (run: RunListRow) => string;
  /** Returns the text after the last run, which truncated exports lack. CSV does not allow one. */
  readonly tail: (runs: number) => string;
}

/** `text` is client-supplied; `plain` consists of digits or of the service's own values. */
type Kind = "text" | "plain";

/** A column of CSV. */
type Column = readonly [name: string, kind: Kind, value: (run: RunListRow) => unknown];

const COLUMNS: readonly Column[] = [
  ["id", "plain", ({ id }) => id],
  ["kind", "plain", ({ kind }) => kind],
  ["agent", "text", ({ agent }) => agent],
  ["status", "plain", ({ status }) => status],
  ["closed_by", "plain", ({ closedBy }) => closedBy],
  ["started_at", "plain", ({ startedAt }) => formatInstantOrNull(startedAt)],
  ["finished_at", "plain", ({ finishedAt }) => formatInstantOrNull(finishedAt)],
  ["received_at", "plain", ({ receivedAt }) => formatInstantOrNull(receivedAt)],
  ["duration_ms", "plain", ({ durationMs }) => durationMs],
  ["customer_id", "text", ({ customerId }) => customerId],
  ["feature", "text", ({ feature }) => feature],
  ["cost_usd", "plain", ({ cost }) => dollarsText(cost.amount)],
  ["cost_state", "plain", ({ cost }) => cost.state],
  ["cost_revision", "plain", ({ cost }) => cost.revision],
  ["unpriced_models", "text", ({ cost }) => cost.unpricedModels.join(" ")],
  ["cost_flags", "plain", ({ cost }) => cost.flags.join(" ")],
  ["flags", "plain", ({ flags }) => flags.join(" ")],
  ["has", "plain", ({ has }) => has.join(" ")],
  ["events", "plain", ({ usage }) => usage.events],
  ["llm_calls", "plain", ({ usage }) => usage.llmCalls],
  ["tool_calls", "plain", ({ usage }) => usage.toolCalls],
  ["logs", "plain", ({ usage }) => usage.logs],
  ["errors", "plain", ({ usage }) => usage.errors],
  ["input_tokens", "plain", ({ usage }) => usage.inputTokens],
  ["output_tokens", "plain", ({ usage }) => usage.outputTokens],
  ["cached_input_tokens", "plain", ({ usage }) => usage.cachedInputTokens],
];

/** Column names in order. */
export const EXPORT_COLUMNS: readonly string[] = COLUMNS.map(([name]) => name);

/** Last line of NDJSON. */
export const exportEnd = objectValue<{ readonly runs: number }>("ExportEnd", {
  end: wire(z.literal(true))(() => true as const),
  runs: countValue("runs", "Number of lines before this one."),
});

/** Writers by format. */
export const EXPORT_FORMS: Readonly<Record<ExportFormat, ExportForm>> = {
  ndjson: {
    type: "application/x-ndjson",
    head: "",
    line: (run) => `${exportedRun.write(run)}\n`,
    tail: (runs) => `${exportEnd.write({ runs })}\n`,
  },
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    head: csvLine(EXPORT_COLUMNS),
    line: (run) => csvLine(COLUMNS.map(([, kind, value]) => cellOf(kind, value(run)))),
    tail: () => "",
  },
};

function cellOf(kind: Kind, value: unknown): string {
  if (value === null) return "";
  return kind === "text" ? textCell(String(value)) : String(value);
}
