/** Odd payloads of `odd_payloads.jsonl`: each is stored, and every loss is reported. */
import { assert, assertEquals } from "@std/assert";
import { runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { bodyOf, readFile, type Row } from "./bad_requests/rows.ts";

/** A call that is stored although its payload is invalid. */
interface OddRow extends Pick<Row, "name" | "method" | "path" | "body" | "text" | "batch"> {
  /** `Runledger-Dropped` of the response; null for none. */
  readonly dropped: string | null;
  /** `flags` of the record. */
  readonly flags: readonly string[];
}

const ROWS_MIN = 70;
/** Ids of runs in rows: each row has its own run. */
const SENT_ID = /run_eu_0{28}(?:0064|0001)/;

Deno.test("R1 to R9, R19: no odd payload loses a call, and every loss is reported and flagged", async () => {
  const rows = readFile<OddRow>(new URL("odd_payloads.jsonl", import.meta.url));
  assert(rows.length >= ROWS_MIN, `only ${rows.length} rows`);
  await using h = await Harness.open();
  for (const [n, row] of rows.entries()) {
    const id = runId(1_000 + n);
    const own = JSON.parse(JSON.stringify(row).replace(SENT_ID, id)) as OddRow;
    const answer = await h.request(own.method, own.path, { body: bodyOf(own) });
    assertEquals(answer.status, own.method === "GET" ? 200 : 202, `${row.name}: ${answer.text}`);
    assertEquals(answer.headers.get("runledger-dropped"), row.dropped, row.name);
    const record = await h.get(`/v1/runs/${answer.headers.get("x-run-id") ?? id}`);
    const flags = record.json.flags.filter((flag: string) => flag !== "no_opening");
    assertEquals(flags, row.flags, row.name);
  }
});
