/** The form of a rule, one for each kind, and the API's call that it makes. */
import type { Child } from "hono/jsx";
import { FITTING, RULES } from "../../../domain/alerts/rule_body.ts";
import { QUOTA_PERCENTS } from "../../../domain/alerts/rules.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import { OUTCOMES_MAX } from "../../../domain/outcomes/window.ts";
import { CHECK_SEVERITIES } from "../../../domain/runs/check_result.ts";
import { readInteger } from "../components/form_fields.tsx";
import type { ObjectForms } from "../components/object_pages.tsx";
import { readSetup, withTabs } from "./frame.tsx";
import { type KnownValues, matchFields, readKnownValues } from "./known_values.tsx";
import { NEW_RULE_PATH, RULES_PATH } from "./paths.ts";
import { KIND_LABELS, KIND_WORDS, MISSED_LABELS, TROUBLE_LABELS } from "./rule_words.ts";

import * as rules from "../../../domain/alerts/rule.ts";
import * as objects from "../components/object_forms.tsx";

/** Returns the kind of a form; the first one for another name. */
function kindOf(name: string | null | undefined): rules.RuleKind {
  return rules.RULE_KINDS.find((kind) => kind === name) ?? rules.RULE_KINDS[0];
}

/** Parameters of each kind. */
const PARAMS: Readonly<Record<rules.RuleKind, readonly (keyof typeof PARAM_FIELDS)[]>> = {
  run_failed: ["statuses", "consecutive", "runs"],
  check_failed: ["checks", "severity_min", "consecutive", "runs"],
  run_cost: ["usd", "runs"],
  spend: ["usd", "period"],
  missed: ["reasons"],
  stuck: ["seconds", "runs"],
  unpriced: [],
  quota: ["percents"],
  service: ["what"],
};

/** A number of outcomes. */
const OUTCOMES = { type: "number", min: 1, max: OUTCOMES_MAX } as const;

type ParamField = (form: objects.Fields, known: KnownValues, kind: rules.RuleKind) => Child;

/** The field of each parameter. */
const PARAM_FIELDS = {
  statuses: ({ boxes }) => boxes("statuses", "Runs that", ["failed", ["timeout", "timed out"]]),
  consecutive: ({ text }) => text("consecutive", "How many in a row", undefined, OUTCOMES),
  checks: (form, known) => matchFields(form, ["checks"], known),
  severity_min: ({ choice }) =>
    choice(
      "severity_min",
      "Severity of the check, at least",
      CHECK_SEVERITIES,
      "A check that could not be decided counts as warn.",
    ),
  runs: ({ choice }) =>
    choice(
      "runs",
      "Runs",
      [["root", "without a parent"], ["all", "all, child runs too"]],
      "The trouble of a child run shows in the run that started it.",
    ),
  usd: ({ text }, _, kind) =>
    text("usd", kind === "spend" ? "Spend of at least" : "A run costs more than", "US dollars.", {
      required: true,
      placeholder: "2.50",
    }),
  period: ({ choice }) =>
    choice("period", "In a", rules.SPEND_PERIODS, "In UTC; weeks begin on Monday."),
  reasons: ({ boxes }) =>
    boxes("reasons", "An agent is down because", Object.entries(MISSED_LABELS)),
  seconds: ({ text }) => text("seconds", "A run is open for more than", "Such as 30m, 6h or 1d."),
  percents: ({ boxes }) =>
    boxes(
      "percents",
      "Share of the month's events",
      QUOTA_PERCENTS.map((percent) => [String(percent), `${percent}%`]),
    ),
  what: ({ boxes }) => boxes("what", "Trouble", Object.entries(TROUBLE_LABELS)),
} satisfies Readonly<Record<string, ParamField>>;

/** The fields of a rule. */
function formFields(
  form: objects.Fields,
  kind: rules.RuleKind,
  channels: readonly Channel[],
  known: KnownValues,
): Child {
  const { groups, match } = FITTING[kind];
  return (
    <>
      <fieldset>
        <legend>{KIND_LABELS[kind]}</legend>
        <div class="fields">
          {PARAMS[kind].map((name) => (PARAM_FIELDS[name] as ParamField)(form, known, kind))}
          {kind === "unpriced" && <p class="soft">A call of a model that has no price.</p>}
        </div>
      </fieldset>
      {match.length > 0 && <div class="fields">{matchFields(form, match, known)}</div>}
      <div class="fields">
        {groups.length > 0 &&
          form.choice("group_by", "One incident for each", [["", "rule"], ...groups])}
        {form.choice("severity", "Severity", SEVERITIES)}
        {form.text("resolve_after", "Good outcomes until it is resolved", "In a row.", OUTCOMES)}
        {form.text(
          "renotify_seconds",
          "Repeat the message after",
          "Such as 6h or 1d, while it stays open. Empty: never.",
        )}
      </div>
      {form.boxes(
        "channels",
        "Channels",
        channels.map(({ slug, settings: { isDefault } }) => [
          slug,
          isDefault ? `${slug} (default)` : slug,
        ]),
        channels.length === 0
          ? "There is no channel yet: incidents are shown here."
          : "None: the default channels.",
      )}
      {form.tick("enabled", "Enabled")}
    </>
  );
}

/** Fills in the form from a rule. A default rule is not stored, so its form has no version. */
export function typedOfRule({ slug, version, settings }: rules.Rule): objects.Typed {
  return objects.typedOf({ slug, version: version || null, ...RULES.fieldsOf(settings) });
}

/** The forms of rules. */
export const RULE_FORMS: ObjectForms<rules.RuleSettings> = {
  kind: "rule",
  listPath: RULES_PATH,
  newPath: NEW_RULE_PATH,
  kinds: ["kind", KIND_LABELS, KIND_WORDS],
  storeOf: (deps) => deps.rules,
  lists: ["statuses", "reasons", "percents", "what", "channels"],
  parse: (typed, now) => {
    const kind = kindOf(typed.texts["kind"]);
    const values = (...names: readonly string[]) =>
      objects.valuesOf(typed, names, { consecutive: readInteger, resolve_after: readInteger });
    const { percents, ...params } = values(...PARAMS[kind]);
    return RULES.parse({
      kind,
      params: Array.isArray(percents) ? { percents: percents.map(readInteger) } : params,
      match: values("agents", "customers", "features"),
      ...values("group_by", "severity", "resolve_after", "renotify_seconds", "channels"),
      ...values("enabled", "version"),
    }, now);
  },
  open: async (c, deps) => {
    const [setup, known] = await Promise.all([
      readSetup(c, deps),
      readKnownValues(deps, c.get("principal").team),
    ]);
    const kind = kindOf(c.req.query("kind"));
    return {
      empty: objects.typedOf({
        kind,
        version: 0,
        statuses: rules.BAD_STATUSES,
        reasons: rules.MISSED_REASONS,
        percents: QUOTA_PERCENTS,
        what: rules.SERVICE_TROUBLES,
        consecutive: 3,
        severity_min: "warn",
        runs: "root",
        period: "day",
        seconds: DAY_MS / 1_000,
        group_by: FITTING[kind].groups[0],
        severity: "warning",
        resolve_after: 1,
        enabled: true,
      }),
      fields: (form, { texts }) => formFields(form, kindOf(texts["kind"]), setup.channels, known),
      frame: (view) => withTabs(c, setup, "rules", view),
    };
  },
};
