/** The body of `POST /v1/rate-card/reprice`. */
import { assert, assertEquals } from "@std/assert";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import { LABEL_CHARS_MAX } from "../../../../domain/core/limits.ts";
import { parseReprice } from "../../../../domain/repricing/job.ts";

function parse(value: Record<string, unknown>) {
  return parseReprice({ value, text: rawOf(value) } as Parameters<typeof parseReprice>[0]);
}

Deno.test("a body with only a model selects all of its calls and is not a dry run", () => {
  assertEquals(parse({ model: "m" }), {
    ok: true,
    value: { spec: { model: "m", provider: null, from: null, to: null }, dryRun: false },
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
  assert(parsed.ok);
  const from = Date.UTC(2026, 0, 1);
  assertEquals(parsed.value.spec, {
    model: "Any Name: it is as it was sent",
    provider: "p",
    from,
    to: from + 1,
  });
  assertEquals(parsed.value.dryRun, true);
  const nulls = parse({ model: "m", provider: null, from: null, to: null, dry_run: null });
  assertEquals(nulls, parse({ model: "m" }));
});

const REFUSED: readonly (readonly [Record<string, unknown>, string, string])[] = [
  [{}, "missing_field", "model"],
  [{ model: null }, "missing_field", "model"],
  [{ model: "" }, "invalid_field", "model"],
  [{ model: 7 }, "invalid_field", "model"],
  [{ model: ["m"] }, "invalid_field", "model"],
  [{ model: "m".repeat(LABEL_CHARS_MAX + 1) }, "invalid_field", "model"],
  [{ model: "m", provider: "" }, "invalid_field", "provider"],
  [{ model: "m", provider: 1 }, "invalid_field", "provider"],
  [{ model: "m", from: "2026-01-01" }, "invalid_field", "from"],
  [{ model: "m", from: 1_767_225_600_000 }, "invalid_field", "from"],
  [{ model: "m", to: "2026-02-30T00:00:00Z" }, "invalid_field", "to"],
  [{ model: "m", to: "2026-01-01T00:00:00+24:00" }, "invalid_field", "to"],
  [{ model: "m", dry_run: "true" }, "invalid_field", "dry_run"],
  [{ model: "m", dry_run: 1 }, "invalid_field", "dry_run"],
  [
    { model: "m", from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" },
    "invalid_field",
    "to",
  ],
  [
    { model: "m", from: "2026-01-02T00:00:00Z", to: "2026-01-02T00:00:00Z" },
    "invalid_field",
    "to",
  ],
];

for (const [body, code, field] of REFUSED) {
  Deno.test(`${JSON.stringify(body).slice(0, 70)} is ${code} of ${field}`, () => {
    const parsed = parse(body);
    assert(!parsed.ok);
    assertEquals([parsed.problem.code, parsed.problem.field], [code, field]);
  });
}
