/** The documents agree with the code and cover everything that users meet. */
import { ERROR_CHARS_MAX, RETRIES } from "../../../domain/work/work.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SETTING_NAMES } from "../../../app/config.ts";
import { ACTIVE_JOBS_MAX, JOB_NAMES_MAX } from "../../../domain/core/jobs.ts";
import { ERRORS } from "../../../domain/core/errors.ts";
import * as limits from "../../../domain/core/limits.ts";
import { PAGE_ROWS_MAX } from "../../../kv/run_list/run_list.ts";
import { RUNS_WINDOW_HOURS } from "../../../domain/runs/list_query.ts";
import { SPEND_BYTES_MAX, SPEND_GROUPS_MAX, SPEND_ROWS_MAX } from "../../../domain/spend/spend.ts";
import { SPEND_DAYS_DEFAULT, SPEND_DAYS_MAX } from "../../../domain/spend/spend_query.ts";
import { type TierLimits, TIERS } from "../../../domain/teams/plans.ts";
import { ORPHAN_DAYS, TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import { UNPRICED_MODELS_MAX } from "../../../domain/spend/unpriced.ts";
import { describedApi } from "../../support/oracles/openapi.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, root));

/** Documents outside of `docs/`, which stand beside what they describe. */
const BESIDE_THE_CODE = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/COMPARISON.md",
  "bench/README.md",
  "docs/decisions/README.md",
  "kv/README.md",
  "kv/transfer/README.md",
  "routes/dashboard/README.md",
  "tests/assurance/README.md",
];

/** Lines of a document without table padding and digit separators. */
const plain = (text: string) => text.replace(/(?<=\d),(?=\d{3})/g, "");

Deno.test("every error code has a row with its status, retry advice and meaning, and sections are of codes", () => {
  const [head = "", ...sections] = read("docs/ERRORS.md").split("\n## ");
  const titles = sections.map((section) => section.split("\n")[0] ?? "");
  const linked = new Set(titles);
  for (const title of titles) assert(title in ERRORS, title);
  const rows = head.split("\n").filter((line) => /^\| \[?`/.test(line));
  assertEquals(
    rows.map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim())),
    describedApi()["x-errors"].map(({ code, status, retry, meaning }) => [
      linked.has(code) ? `[\`${code}\`](#${code})` : `\`${code}\``,
      String(status),
      retry ? "yes" : "no",
      meaning,
    ]),
  );
});

Deno.test("every setting has a row in the document on operations", () => {
  const rows = read("docs/OPERATIONS.md").split("\n").filter((line) => line.startsWith("| `"));
  for (const name of SETTING_NAMES) {
    assert(rows.some((row) => row.startsWith(`| \`${name}\``)), `${name} has no row`);
  }
});

/** Part of the row or of the paragraph that states each limit. */
const STATED_IN: Readonly<Record<keyof typeof limits, string>> = {
  EVENTS_PER_BATCH_MAX: "events in a batch",
  EVENTS_BODY_BYTES_MAX: "body of a batch of events",
  BATCH_STRUCTURE_MAX: "outside of texts in a batch",
  BODY_BYTES_MAX: "body of another call",
  WHOLE_BODY_BYTES_MAX: "any other body",
  FORM_BYTES_MAX: "a form of the dashboard",
  EVENT_BYTES_MAX: "| one event",
  OUTPUT_BYTES_MAX: "`output`; nesting",
  JSON_DEPTH_MAX: "`output`; nesting",
  PREVIEW_CHARS_MAX: "kept of a truncated payload",
  USAGE_FIELD_BYTES_MAX: "kept of a truncated payload",
  BODY_DEADLINE_MS: "time to send a body",
  STORAGE_DEADLINE_MS: "time the store may take",
  DRAIN_MS_MAX: "time a stop may take",
  AGENT_CHARS_MAX: "agent's slug",
  LABEL_CHARS_MAX: "`customer_id`",
  EVENT_TYPE_CHARS_MAX: "agent's slug, `type` of an event",
  TOOL_NAME_CHARS_MAX: "name of a failed tool",
  GOAL_CHARS_MAX: "`goal`; ",
  SCORES_MAX: "scores of a finish",
  ADDED_SCORES_MAX: "scores added to a run",
  SCORE_SOURCE_CHARS_MAX: "scores of a finish",
  SCORE_NAME_CHARS_MAX: "scores of a finish",
  METADATA_KEY_CHARS_MAX: "| metadata key,",
  METADATA_VALUE_CHARS_MAX: "| metadata key,",
  NOTE_CHARS_MAX: "note of a ping",
  RID_CHARS_MAX: "`rid`",
  DERIVED_START_MS_MAX: "a missing start is derived from",
  KEY_NAME_CHARS_MAX: "name of a credential",
  IDLE_TIMEOUT_SECONDS: "`idle_timeout_seconds`",
  COST_USD_MAX: "reported cost of a run",
  CLOCK_SKEW_MS_MAX: "clock difference",
  RUN_MODELS_MAX: "models of a run counted separately",
  EVENTS_PER_PAGE: "a page of events",
  EVENTS_PAGE_BYTES_MAX: "a page of events",
  CHILDREN_MAX: "children of a run listed",
  DESCENDANTS: "descendants whose cost is added",
  ARCHIVED_AGENTS_MAX: "archived agents",
  AGENT_NOTES_CHARS_MAX: "notes on an agent",
  RATE_USD_PER_MILLION_MAX: "own rows of the rate card",
  RATE_TIERS_MAX: "own rows of the rate card",
  RATE_NOTE_CHARS_MAX: "own rows of the rate card",
  SPEND_DEADLINE_MS: "time of such a query",
  RATE_ROWS_MAX: "own rows of the rate card",
  RATES_PER_PAGE: "of prices",
  ADMIN_PER_PAGE: "of credentials, teams, the audit log",
  OVERLAP_HOURS: "old secret of a credential",
  TEAM_NAME_CHARS_MAX: "name of a credential, of a team",
  EMAIL_CHARS_MAX: "e-mail address of an owner",
  OWN_RATE_MAX: "own rate or burst of a team",
  OWN_LIMIT_MAX: "its other own limits",
  CONTROL_RATE_FACTOR: "scope `read` or `admin` take tokens",
  ENTERPRISE_CONTROL_FACTOR: "Enterprise has no limit unless",
  DASHBOARD_RESERVE: "Reads cost what they read",
  READ_TOKEN: "Reads cost what they read",
  BYTES_BURST_SECONDS: "Bytes have a rate too",
  RATE_TEAMS_MAX: "teams whose bucket is in memory",
  CHANGES_PER_PAGE: "| a page of changes",
  CHANGES_PAGE_CHARS_MAX: "names in a page of changes",
  CHANGES_WAIT_SECONDS_MAX: "wait for a change",
  FINAL_WAIT_SECONDS: "a final run",
  LISTENERS_MAX: "live streams and long polls",
  LIVE_CHANGES_LAG_MAX: "changes that a live stream is behind",
  LIVE_KEEP_ALIVE_MS: "pause between its comments",
  LIVE_BATCH_CHARS_MAX: "bytes buffered for a live stream, sent at once",
  LIVE_BUFFER_BYTES_MAX: "bytes buffered for a live stream",
  SESSION: "a session of the dashboard",
  SESSIONS_PER_KEY_MAX: "sessions of one key",
  REFUSAL_LIMITS: "rejected requests kept",
  REFUSAL_CHARS_MAX: "texts of a rejected request",
};

Deno.test("the document on limits states every limit, in its row or paragraph", () => {
  const table = plain(read("docs/LIMITS.md"));
  const places = table.split("\n\n").flatMap((block) =>
    block.startsWith("|") ? block.split("\n") : [block.replaceAll("\n", " ")]
  );
  for (const [name, limit] of Object.entries(limits)) {
    const part = STATED_IN[name as keyof typeof limits];
    assert(part !== undefined, `${name} has no place in STATED_IN`);
    const [place = "", ...others] = places.filter((place) => place.includes(part));
    assertEquals([place !== "", others], [true, []], `${name}: "${part}" is one place`);
    for (const number of typeof limit === "number" ? [limit] : Object.values(limit)) {
      assert(new RegExp(`\\b${number}\\b`).test(place), `${name} = ${number} is not in: ${place}`);
    }
  }
  const rows: [string, number][] = [
    ["days of a query over spend", SPEND_DAYS_DEFAULT],
    ["days of a query over spend", SPEND_DAYS_MAX],
    ["groups of its answer", SPEND_GROUPS_MAX],
    ["roll-ups one such query reads", SPEND_ROWS_MAX],
    ["memory for the groups of its answer", SPEND_BYTES_MAX],
    ["unpriced models listed", UNPRICED_MODELS_MAX],
    ["attempts of a stage after a close", RETRIES.run.triesMax],
    ["attempts of a stage after a close", RETRIES.run.firstMs],
    ["text of a stage's error", ERROR_CHARS_MAX],
    ["jobs of a team in progress", ACTIVE_JOBS_MAX],
    ["providers of a model that one repricing covers", JOB_NAMES_MAX],
    ["rows a page of runs reads", PAGE_ROWS_MAX],
    ["hours that a search without an index looks back", RUNS_WINDOW_HOURS],
    ["parts without an opening are kept", ORPHAN_DAYS],
    ["id of a deleted run is refused", TOMBSTONE_DAYS],
  ];
  const rowOf = (what: string) =>
    table.split("\n").find((line) => line.startsWith(`| ${what} `)) ?? "";
  for (const [what, number] of rows) {
    assert(new RegExp(`\\b${number}\\b`).test(rowOf(what)), `${what} is not ${number}`);
  }
});

Deno.test("each plan's limits are in the document on limits", () => {
  const table = plain(read("docs/LIMITS.md")).replaceAll(/ +\|/g, " |");
  for (const [tier, limits] of Object.entries<TierLimits>(TIERS)) {
    const [payload, record] = [limits.payloadDays, limits.recordDays].map((days) =>
      days === Infinity ? "for ever" : `${days} days`
    );
    const { requestsPerSecond, burst, bytesPerSecond, eventsPerMonth } = limits;
    const rate = requestsPerSecond === Infinity ? Infinity : `${requestsPerSecond} (${burst})`;
    const others = [bytesPerSecond / 1e6, eventsPerMonth, limits.agentsMax, limits.metadataKeysMax];
    const cells = [tier, payload, record, rate, ...others].join(" | ");
    assertStringIncludes(table, `| ${cells.replaceAll("Infinity", "unlimited")} |`);
  }
});

Deno.test("the README takes three minutes to read: 700 words at most", () => {
  assert(read("README.md").trim().split(/\s+/).length <= 700);
});

Deno.test("each figure of the README is in the document that it cites", () => {
  const figures = read("README.md").split("## Why rely on it")[1]?.split("\n## ")[0] ?? "";
  const sources = plain(read("docs/RELIABILITY.md") + read("docs/PERFORMANCE.md"));
  const numbers = [...plain(figures).matchAll(/\b\d{2,}\b/g)].map(([number]) => number);
  assert(numbers.length >= 7);
  for (const number of numbers) assertMatch(sources, new RegExp(`\\b${number}\\b`), number);
});

Deno.test("every key family of the store is in the table of keys", () => {
  const families = [
    ...read("kv/base/keys.ts").matchAll(/\[\s*"(\w+)"/g),
  ].map(([, name]) => name);
  const document = read("kv/README.md");
  assert(families.length > 10);
  for (const family of families) assertStringIncludes(document, `["${family}"`);
});

Deno.test("every kind of run row is in the table of keys", () => {
  const pattern = /\[\s*"(run|events)",\s*run,\s*team,\s*"(\w+)"/g;
  const rows = [...read("kv/base/keys.ts").matchAll(pattern)];
  const document = read("kv/README.md");
  assert(rows.length > 8);
  for (const [, family, name] of rows) {
    assertStringIncludes(document, `["${family}", id, team, "${name}"`);
  }
});

Deno.test("every link between the documents resolves to an existing file and heading", () => {
  const names = [...Deno.readDirSync(new URL("docs/", root))].map(({ name }) => `docs/${name}`)
    .filter((name) => name.endsWith(".md"));
  const hasHeading = (from: string, to: string, anchor: string | undefined) => {
    const headings = read(to).split("\n").filter((line) => line.startsWith("#")).map(anchorOf);
    const exists = anchor === undefined || headings.includes(anchor);
    assert(exists, `${from} links to ${to}#${anchor}, which has no such heading`);
  };
  for (const from of [...BESIDE_THE_CODE, ...names]) {
    for (const [, target = "", anchor] of read(from).matchAll(/\]\(([\w./-]*)(?:#([\w-]+))?\)/g)) {
      const path = new URL(target, new URL(from, "file:///")).pathname.slice(1);
      hasHeading(from, target === "" ? from : path, anchor);
    }
  }
  // Comments and messages name a document by its path.
  const ops = [...Deno.readDirSync(new URL("ops/", root))].map(({ name }) => `ops/${name}`);
  for (const from of [...ops, "app/console.ts", "app/config.ts", "kv/refused.ts"]) {
    for (const [, to = "", anchor] of read(from).matchAll(/\b(docs\/\w+\.md)(?:#([\w-]+))?/g)) {
      hasHeading(from, to, anchor);
    }
  }
});

/** Converts a heading to its anchor: lower case, dashes for spaces, without punctuation. */
function anchorOf(heading: string): string {
  return heading.replace(/^#+ /, "").toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-");
}
