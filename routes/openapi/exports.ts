/** `GET /v1/runs.ndjson` and `GET /v1/runs.csv`, described. */
import { z } from "zod";
import type { Operation } from "./describe.ts";
import { RUN_FILTERS } from "./run_list.ts";
import { RUN } from "./runs.ts";

const NEEDS = ["openRun", "appendEvents", "finishRun"];

const SHARED =
  "All runs that pass the filters, newest first, made while they are taken. There is no default window: " +
  "an export searches everything that it is not told to leave out. Money is decimal text, exact to " +
  "the picodollar. An export that fails breaks the connection instead of ending the answer. A team " +
  "may take 4 at once. ";

/** Lists of runs in one answer. */
export const EXPORT_OPERATIONS: readonly Operation[] = [
  {
    method: "GET",
    path: "/v1/runs.ndjson",
    id: "exportRuns",
    tag: "Runs",
    summary: "Export runs as lines of JSON",
    description: SHARED + 'The last line is `{"end":true,"runs":…}` with the number of runs.',
    query: RUN_FILTERS,
    answers: [{
      status: 200,
      description: "One object a line.",
      schema: z.string(),
      type: "application/x-ndjson",
      headers: ["Content-Disposition", "Cache-Control"],
    }],
    errors: ["overloaded"],
    idempotency: "read",
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
    id: "exportRunsAsCsv",
    tag: "Runs",
    summary: "Export runs as a table",
    description: SHARED +
      "CSV by RFC 4180, the first line with the names of the columns. Texts that somebody sent get " +
      "an apostrophe in front where a spreadsheet would take them for a formula.",
    query: RUN_FILTERS,
    answers: [{
      status: 200,
      description: "The table.",
      schema: z.string(),
      type: "text/csv",
      headers: ["Content-Disposition", "Cache-Control"],
    }],
    errors: ["overloaded"],
    idempotency: "read",
    example: {
      query: { agent: "researcher" },
      status: 200,
      answer: `id,kind,agent,status,started_at,…`,
      needs: NEEDS,
    },
  },
];
