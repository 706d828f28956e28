/** The body of `POST /v1/rate-card/reprice`. */
import { assertEquals } from "@std/assert";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import { parseReprice } from "../../../../domain/repricing/reprice_job.ts";

function parse(value: Record<string, unknown>) {
  return parseReprice({ value, text: rawOf(value) } as Parameters<typeof parseReprice>[0]);
}

Deno.test("a body with only a model selects all of its calls and is not a dry run", () => {
  assertEquals(parse({ model: "m" }), {
    spec: { model: "m", provider: null, from: null, to: null },
    dryRun: false,
  });
});

Deno.test("every field is read, and null is absent", () => {
  const parsed = parse({
    model: " Any Name: it is as it was sent".trim(),
    provider: "p",
    from: "2026-01-01T00:00:00Z",
    to: "2026-01-01T00:00:00.001Z",
    dry_run: true,
  });
  const from = Date.UTC(2026, 0, 1);
  assertEquals(parsed.spec, {
    model: "Any Name: it is as it was sent",
    provider: "p",
    from,
    to: from + 1,
  });
  assertEquals(parsed.dryRun, true);
  const nulls = parse({ model: "m", provider: null, from: null, to: null, dry_run: null });
  assertEquals(nulls, parse({ model: "m" }));
});
