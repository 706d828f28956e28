import { assert, assertEquals } from "@std/assert";
import { parse } from "csv-parse";
import fc from "fast-check";
import { csvLine, textCell } from "../../../../domain/core/csv.ts";

/** Parses cells as a CSV reader would. */
function readBack(texts: readonly string[]): string[] {
  const [row = [], ...more] = parse(csvLine(texts.map(textCell)), { relax_column_count: false });
  assertEquals(more, []);
  return row;
}

/** Removes the formula guard from a text. */
function restored(cell: string): string {
  return cell.startsWith("'") ? cell.slice(1) : cell;
}

Deno.test("csv: any texts round-trip, each in its own cell", () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[=+\-@\t\r\n'",; ]{0,4}$/));
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 5 }), (texts) => {
      assertEquals(readBack(texts).map(restored), texts);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("csv: no cell starts like a formula, whatever the input", () => {
  const risky = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "－1", "'=1"];
  for (const text of risky) assertEquals(readBack([text, "x"]), [`'${text}`, "x"]);
  assertEquals(readBack(["a=1", " =1", "", "1-1"]), ["a=1", " =1", "", "1-1"]);
});

Deno.test("csv: lines end with CRLF and quotes are doubled, as RFC 4180 requires", () => {
  assertEquals(csvLine(["a", textCell('say "hi", twice'), ""]), 'a,"say ""hi"", twice",\r\n');
  assert(textCell("two\nlines").startsWith('"two\n'));
});
