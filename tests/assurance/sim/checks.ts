/**
 * Checks in the model: what each expression says of a run (decisions 60 to 68). The model knows its
 * expressions as functions. Imports nothing from the service.
 */
import { createHash } from "node:crypto";
import { failedEvents, unpricedModels, usageOf } from "./reads.ts";
import { asClosed, type Event, type Fields, instant, type Run } from "./shape.ts";
import { costOf, durationOf } from "./values.ts";

/** Settings of a check, as a call sends them. */
export interface CheckSettings {
  readonly expression: string;
  readonly agents: readonly string[];
  readonly kinds: readonly string[];
  readonly statuses: readonly string[];
  readonly features: readonly string[];
  readonly severity: "info" | "warn" | "fail";
  readonly sample: number;
  readonly enabled: boolean;
}

export interface Check {
  readonly id: string;
  readonly version: number;
  readonly settings: CheckSettings;
}

/** A result, without its texts and its time. */
export interface Result extends Pick<CheckSettings, "severity"> {
  readonly check: string;
  readonly id: string;
  readonly version: number;
  readonly status: "pass" | "fail" | "error" | "skipped";
  readonly reason?: string;
}

/** Says whether a run is good; a text is the reason of an error, and null is a run without output. */
type Expression = (run: Run) => boolean | string | null;

/** US dollars in picodollars. */
const USD = 1e12;

/** Expressions by text; the last ones need the events of a run. */
export const EXPRESSIONS: Readonly<Record<string, Expression>> = {
  'status == "success"': ({ closing }) => closing?.status === "success",
  "cost_usd < 0.5": (run) => costOf(run) < 0.5 * USD,
  "usage.errors == 0 && usage.llm_calls <= 2": (run) =>
    usageOf(run).errors === 0 && usageOf(run).llm_calls <= 2,
  "usage.input_tokens < 100 || usage.tool_calls == 0": (run) =>
    usageOf(run).input_tokens < 100 || usageOf(run).tool_calls === 0,
  "size(unpriced) == 0": (run) => unpricedModels(run).length === 0,
  "duration_ms < 60000": (run) => (durationOf(run) ?? 0) < 60_000,
  'agent == "ant" || customer_id == "acme"': (run) =>
    run.opening?.agent === "ant" || labelOf(run, "customer_id") === "acme",
  "scores.quality >= 0.5": (run) => {
    const { quality } = scoresOf(run);
    return quality === undefined ? "no_such_key" : Number(quality) >= 0.5;
  },
  '!("quality" in scores) || scores.quality >= 0.5': (run) =>
    Number(scoresOf(run).quality ?? 1) >= 0.5,
  "output.answer == 42": ({ closing }) => {
    if (closing?.output === undefined) return null;
    const { answer } = closing.output as Fields;
    return answer === undefined ? "no_such_key" : answer === 42;
  },
  'finds(status, "^(success|cancelled)$")': ({ closing }) =>
    ["success", "cancelled"].includes(String(closing?.status)),
  'tools.all(t, t.error == "")': (run) => failedEvents({ events: toolsOf(run) }).length === 0,
  '!tools.exists(t, t.name == "remove")': (run) =>
    toolsOf(run).every(({ data: { name } }) => name !== "remove"),
  'calls.all(c, c.model == "atlas")': ({ events }) =>
    events.every(({ type, data: { model } }) => type !== "llm_call" || model === "atlas"),
  "longest_repeat.times < 3": (run) => longestRepeat(toolsOf(run)) < 3,
  "size(tools) + size(calls) < 4": ({ events }) =>
    events.filter(({ type }) => type === "tool_call" || type === "llm_call").length < 4,
  "cost_with_children_usd < 0.5": (run) => costOf(run) < 0.5 * USD,
};

export function resultsOf(
  id: string,
  stored: Run,
  checks: Readonly<Record<string, Check>>,
): readonly Result[] | null {
  const run = asClosed(stored);
  if (run.opening === undefined || run.closing === undefined) return null;
  const applying = Object.entries(checks).filter(([slug, { settings }]) =>
    applies(slug, settings, id, run)
  ).sort(([a], [b]) => a < b ? -1 : 1);
  return applying.length === 0 ? null : applying.map(([slug, check]) => resultOf(slug, check, run));
}

function resultOf(slug: string, { id, version, settings }: Check, run: Run): Result {
  const { severity, expression } = settings;
  const result = { check: slug, id, version, severity };
  const said = EXPRESSIONS[expression]?.(run) ?? null;
  if (said === null) return { ...result, status: "skipped", reason: "no_output" };
  if (typeof said === "string") return { ...result, status: "error", reason: said };
  return { ...result, status: said ? "pass" : "fail" };
}

function applies(slug: string, settings: CheckSettings, id: string, run: Run): boolean {
  const { enabled, agents, kinds, statuses, features, sample } = settings;
  const { agent, kind } = run.opening ?? {};
  const isAgent = (wanted: string) =>
    wanted.endsWith("*") ? `${agent}`.startsWith(wanted.slice(0, -1)) : agent === wanted;
  const feature = labelOf(run, "feature");
  return enabled && agents.some(isAgent) && kinds.includes(`${kind}`) &&
    statuses.includes(`${run.closing?.status}`) &&
    (features.length === 0 || features.some((wanted) => wanted === feature)) &&
    placeInSample(slug, id) < sample;
}

function placeInSample(slug: string, id: string): number {
  const digest = createHash("sha256").update(`${slug}\n${id}`).digest();
  return Number(digest.readBigUInt64BE()) / 2 ** 64;
}

/** The UTC day that a run counts for, and its agent. */
export function dayOf({ opening }: Run): string {
  const { started_at = 0, received_at = 0 } = opening ?? {};
  const isFuture = started_at - received_at > 86_400_000;
  return instant(isFuture ? received_at : started_at).slice(0, 10);
}

function labelOf({ opening, closing }: Run, name: string): unknown {
  return closing?.[name] ?? opening?.[name];
}

/** The finish's scores first, then those of events by time and id. */
function scoresOf({ closing, events }: Run): Fields {
  const added = events.filter(({ type }) => type === "score")
    .toSorted((a, b) => a.ts - b.ts || (a.id < b.id ? -1 : 1))
    .map(({ data: { name, value } }) => [name, value]);
  return { ...closing?.scores as Fields | undefined, ...Object.fromEntries(added) };
}

function toolsOf({ events }: Pick<Run, "events">): Event[] {
  return events.filter(({ type }) => type === "tool_call").toSorted((a, b) => a.ts - b.ts);
}

/** Repetitions of the cycle of up to four calls that is repeated most. */
function longestRepeat(tools: readonly Event[]): number {
  const calls = tools.map(({ data: { name, input } }) => JSON.stringify([name, sorted(input)]));
  let longest = 0;
  for (const from of calls.keys()) {
    for (const length of [1, 2, 3, 4]) {
      const cycle = calls.slice(from, from + length);
      if (cycle.length < length) continue;
      let times = 1;
      while (cycle.every((call, n) => calls[from + times * length + n] === call)) times++;
      longest = Math.max(longest, times);
    }
  }
  return longest;
}

/** Sorts the keys of an object, whose order does not matter. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
}
