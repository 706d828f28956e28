/** The fields of a rule's form as texts, and the body of the API's call that they stand for. */
import { RULE_KINDS, type RuleKind, type RuleSettings } from "../../../domain/alerts/rule.ts";
import type { Body } from "../../../domain/core/body.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { durationWord, parseDuration } from "../../../domain/monitors/schedule.ts";
import { bodyOf, listIn, readInteger, readTexts, type Texts } from "../components/form_fields.tsx";

/** The content of a rule's form. */
export interface RuleTexts {
  readonly kind: RuleKind;
  /** Fields with one value. */
  readonly texts: Texts;
  /** Fields with several values. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

const TEXT_NAMES = [
  "slug",
  "version",
  "consecutive",
  "checks",
  "severity_min",
  "usd",
  "period",
  "duration",
  "agents",
  "customers",
  "features",
  "group_by",
  "severity",
  "resolve_after",
  "renotify",
  "enabled",
] as const;

const LIST_NAMES = ["statuses", "reasons", "percents", "what", "channels"] as const;

/** Names of all fields, which show their own problems. */
export const FORM_NAMES: readonly string[] = [...TEXT_NAMES, ...LIST_NAMES];

/** Reads the submitted form; an unknown kind is the first one. */
export function readRuleTexts(form: URLSearchParams): RuleTexts {
  return {
    kind: kindOf(form.get("kind")),
    texts: readTexts(form, TEXT_NAMES),
    lists: Object.fromEntries(LIST_NAMES.map((name) => [name, form.getAll(name)])),
  };
}

/** Returns the kind of a name; the first one for another name. */
export function kindOf(name: string | null | undefined): RuleKind {
  return RULE_KINDS.find((kind) => kind === name) ?? RULE_KINDS[0];
}

/** Fills in the form from a rule; null for a version of none. */
export function textsOfRule(
  slug: string,
  settings: RuleSettings,
  version: number | null,
): RuleTexts {
  const { condition, match, groupBy, severity, resolveAfter, renotifySeconds } = settings;
  const params: Readonly<Record<string, unknown>> = { ...condition };
  const lists = LIST_NAMES.map((name) => {
    const value = name === "channels" ? settings.channels : params[name];
    return [name, Array.isArray(value) ? value.map(String) : []] as const;
  });
  const { consecutive, checks, severityMin, usd, period, seconds } = params;
  return {
    kind: condition.kind,
    texts: {
      slug,
      version: String(version ?? ""),
      consecutive: String(consecutive ?? ""),
      checks: Array.isArray(checks) ? checks.join(", ") : "",
      severity_min: String(severityMin ?? ""),
      usd: String(usd ?? ""),
      period: String(period ?? ""),
      duration: typeof seconds === "number" ? durationWord(seconds) : "",
      agents: match.agents.join(", "),
      customers: match.customers.join(", "),
      features: match.features.join(", "),
      group_by: groupBy ?? "",
      severity,
      resolve_after: String(resolveAfter),
      renotify: renotifySeconds === 0 ? "" : durationWord(renotifySeconds),
      enabled: String(settings.enabled),
    },
    lists: Object.fromEntries(lists),
  };
}

/** Fields of durations: the field of the body that each one becomes. */
const DURATIONS = ["duration", "renotify"] as const;

/** Parameters of each kind: fields of the form, each with its value in the body. */
const PARAMS: Readonly<Record<RuleKind, (texts: RuleTexts, seconds?: number) => object>> = {
  run_failed: ({ texts, lists }) => ({
    statuses: lists["statuses"],
    consecutive: readInteger(texts["consecutive"] ?? ""),
  }),
  check_failed: ({ texts }) => ({
    checks: listIn(texts["checks"] ?? ""),
    severity_min: texts["severity_min"] || undefined,
    consecutive: readInteger(texts["consecutive"] ?? ""),
  }),
  run_cost: ({ texts }) => ({ usd: texts["usd"] }),
  spend: ({ texts }) => ({ usd: texts["usd"], period: texts["period"] }),
  missed: ({ lists }) => ({ reasons: lists["reasons"] }),
  stuck: (_, seconds) => ({ seconds }),
  unpriced: () => ({}),
  quota: ({ lists }) => ({ percents: lists["percents"]?.map(readInteger) }),
  service: ({ lists }) => ({ what: lists["what"] }),
};

/** Returns the body of the API call that the form makes, or why a duration is none. */
export function bodyOfRule(form: RuleTexts): Body | Problem {
  const { kind, texts, lists } = form;
  const text = (name: typeof TEXT_NAMES[number]) => texts[name] ?? "";
  const [seconds, renotify] = DURATIONS.map((name) => durationIn(text(name)));
  const wrong = DURATIONS.find((_, i) => [seconds, renotify][i] === null);
  if (wrong !== undefined) {
    const message = "Must be a duration such as 90s, 15m, 2h or 1d";
    return { code: "invalid_field", message, field: wrong };
  }
  return bodyOf(withoutAbsent({
    kind,
    params: withoutAbsent({ ...PARAMS[kind](form, seconds ?? undefined) }),
    match: {
      agents: listIn(text("agents")),
      customers: listIn(text("customers")),
      features: listIn(text("features")),
    },
    group_by: text("group_by") || undefined,
    severity: text("severity") || undefined,
    resolve_after: readInteger(text("resolve_after")),
    renotify_seconds: renotify ?? 0,
    channels: lists["channels"],
    enabled: text("enabled") === "true",
    version: readInteger(text("version")),
  }));
}

/** Reads a duration; undefined for no text, null for another text. */
function durationIn(text: string): number | null | undefined {
  return text === "" ? undefined : parseDuration(text);
}

function withoutAbsent(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
