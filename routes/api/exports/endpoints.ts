/** `GET /v1/runs.ndjson` and `GET /v1/runs.csv`, described. */
import { exportRuns } from "./exports.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { endpoints } from "../../openapi/describe.ts";
import { EXPORT_COLUMNS } from "./formats.ts";
import { count } from "../../openapi/fields.ts";
import { RUN_FILTERS, runRow } from "../runs/endpoints_list.ts";
import { RUN } from "../runs/endpoints.ts";

const exportedRun = runRow.extend({
  cost_usd: z.string().meta({ pattern: "^[0-9]+(\\.[0-9]+)?$" })
    .describe("Dollars as decimal text, exact to the picodollar."),
}).meta({ id: "ExportedRun" });

const exportEnd = z.object({
  end: z.literal(true),
  runs: count.describe("Number of lines before this one."),
}).meta({ id: "ExportEnd" });

const tableRow = z.object(
  Object.fromEntries(EXPORT_COLUMNS.map((column) => [column, z.string()])),
).meta({
  id: "ExportedRow",
  description: "The columns in their order. A cell is empty for null; lists are joined by spaces.",
});

const NEEDS = ["openRun", "appendEvents", "finishRun"];

const SHARED =
  "All runs that pass the filters, newest first, made while they are taken. There is no default window: " +
  "an export searches everything that it is not told to leave out. Money is decimal text, exact to " +
  "the picodollar. An export that fails breaks the connection instead of ending the answer. A team " +
  "may take 4 at once. ";

/** Lists of runs in one answer. */
export const EXPORT_ENDPOINTS = endpoints("Runs", [
  {
    method: "GET",
    path: "/v1/runs.ndjson",
    access: teamKey("read"),
    handler: exportRuns("ndjson"),
    id: "exportRuns",
    summary: "Export runs as lines of JSON",
    description: SHARED + 'The last line is `{"end":true,"runs":…}` with the number of runs.',
    query: RUN_FILTERS,
    answers: [{
      status: 200,
      description: "One object a line.",
      schema: z.string(),
      type: "application/x-ndjson",
      parts: { line: exportedRun, last_line: exportEnd },
      headers: ["Content-Disposition", "Cache-Control"],
    }],
    errors: ["overloaded"],
    example: {
      query: { agent: "researcher" },
      status: 200,
      answer: `{"id":"${RUN}","kind":"run","agent":"researcher",…`,
      needs: NEEDS,
    },
  },
  {
    method: "GET",
    path: "/v1/runs.csv",
    access: teamKey("read"),
    handler: exportRuns("csv"),
    id: "exportRunsAsCsv",
    summary: "Export runs as a table",
    description: SHARED +
      "CSV by RFC 4180, the first line with the names of the columns. Texts of clients get " +
      "an apostrophe in front where a spreadsheet would take them for a formula.",
    query: RUN_FILTERS,
    answers: [{
      status: 200,
      description: "The table.",
      schema: z.string(),
      type: "text/csv",
      parts: { row: tableRow },
      headers: ["Content-Disposition", "Cache-Control"],
    }],
    errors: ["overloaded"],
    example: {
      query: { agent: "researcher" },
      status: 200,
      answer: `id,kind,agent,status,started_at,…`,
      needs: NEEDS,
    },
  },
]);
