/** The document on checks agrees with the templates, the names and the bounds of the language. */
import { assert, assertStringIncludes } from "@std/assert";
import { CHECKS_PER_RUN_MAX, EXPRESSION_CHARS_MAX } from "../../../domain/checks/check.ts";
import {
  CALLS_MAX,
  EVENT_BYTES_MAX,
  EVENTS_READ_MAX,
  STEPS_MAX,
} from "../../../domain/checks/program.ts";
import { EXPRESSION_LIMITS } from "../../../domain/checks/language/parse.ts";
import { PATTERN_SIZE_MAX } from "../../../domain/checks/language/pattern.ts";
import { FACT_TYPES, FIELD_TYPES } from "../../../domain/checks/program.ts";
import { FAILURES_MAX, TRIAL } from "../../../domain/checks/check_store.ts";
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import { GOT_CHARS_MAX } from "../../../domain/runs/check_result.ts";

const text = Deno.readTextFileSync(new URL("../../../docs/CHECKS.md", import.meta.url));

/** Rows of all tables, without padding. */
const rows = text.split("\n").filter((line) => line.startsWith("|"))
  .map((line) => line.replaceAll(/\s+/g, " ").trim());

Deno.test("checks: the document says how many templates the form has", () => {
  assertStringIncludes(text, `has ${CHECK_TEMPLATES.length} templates`);
});

Deno.test("checks: the document names every value that an expression can use", () => {
  const names = rows.map((row) => row.split(" | ")[0] ?? "").join();
  for (const name of Object.keys(FACT_TYPES)) assert(names.includes(`\`${name}\``), name);
  for (const field of Object.values(FIELD_TYPES).flatMap((fields) => Object.keys(fields))) {
    assert(text.includes(`\`${field}\``), field);
  }
});

Deno.test("checks: the document has every bound", () => {
  const plain = text.replaceAll(/(?<=\d),(?=\d{3})/g, "").replaceAll(/\s+/g, " ");
  const bounds = [
    `${EXPRESSION_CHARS_MAX}, ${EXPRESSION_LIMITS.nodesMax} and ${EXPRESSION_LIMITS.depthMax} |`,
    `| ${PATTERN_SIZE_MAX} | refused`,
    `| ${STEPS_MAX} |`,
    `first ${CALLS_MAX} tool calls`,
    `${EVENTS_READ_MAX} events, and ${EVENT_BYTES_MAX / 2 ** 20} MiB`,
    `at most ${CHECKS_PER_RUN_MAX} checks`,
    `| ${GOT_CHARS_MAX} | cut`,
    `latest ${FAILURES_MAX} failures`,
    `1 to ${TRIAL.runsMax} of the latest`,
    `up to ${TRIAL.examplesMax} examples`,
    `${TRIAL.msMax / 1_000} seconds at most`,
  ];
  for (const bound of bounds) assert(plain.includes(bound), bound);
});
