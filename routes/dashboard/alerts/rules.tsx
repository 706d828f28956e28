/** `/dashboard/alerts/rules`: the rules of a team, and the form of each, which depends on its kind. */
import type { Child } from "hono/jsx";
import {
  QUOTA_PERCENTS,
  type Rule,
  type RuleKind,
  type RuleOverflow,
} from "../../../domain/alerts/rule.ts";
import { FITTING, RULES } from "../../../domain/alerts/rule_body.ts";
import { PREVIEW, type RulePreview } from "../../../domain/alerts/preview.ts";
import type { Channel } from "../../../domain/channels/channel.ts";
import { CHANNELS } from "../../../domain/channels/channel_body.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { Ago, InlineNotice } from "../components/elements.tsx";
import type { Option } from "../components/form_fields.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { type Column, column } from "../components/table.tsx";
import { bodyIn, type FieldBuilder, type FormValues, namesIn, schemaOf } from "../objects/form.tsx";
import {
  type KnownValues,
  matchFields,
  readAll,
  readKnownValues,
} from "../objects/known_values.tsx";
import { enableColumn, showList, slugColumn } from "../objects/list.tsx";
import { objectPages, showObject } from "../objects/pages.tsx";
import { alertFrame } from "./frame.tsx";
import { SeverityTag } from "./labels.tsx";
import {
  channelWords,
  MISSED_LABELS,
  RULE_KIND_WORDS,
  ruleWords,
  TROUBLE_LABELS,
} from "./rule_words.ts";

function columnsFor(
  isAdmin: boolean,
  overflows: ReadonlyMap<string, RuleOverflow>,
): readonly Column<Rule>[] {
  return [
    slugColumn(RULE_PAGES, ({ slug }) => slug, ({ version, settings }) => [
      version === 0 && <span class="tag">default</span>,
      !settings.enabled && <span class="tag">disabled</span>,
    ]),
    column("Opens an incident", { class: "whole" }, ({ slug, settings }) => {
      const overflow = overflows.get(slug);
      return [
        ruleWords(settings),
        overflow !== undefined && (
          <span class="under more">
            More than 1,000 groups since{" "}
            <Ago at={overflow.since} />: further ones share one incident
          </span>
        ),
      ];
    }),
    { head: "Severity", cell: ({ settings }) => <SeverityTag of={settings.severity} /> },
    { head: "Messages", before: "to", cell: channelWords },
    ...isAdmin ? [enableColumn<Rule>(RULE_PAGES)] : [],
  ];
}

type Param = readonly [
  label: string,
  hint?: string | undefined,
  options?: readonly (string | Option)[],
];

/** The field of each parameter; `usd` depends on the kind. */
const PARAMS: Readonly<Record<string, Param>> = {
  statuses: ["Runs that", undefined, ["failed", ["timeout", "timed out"]]],
  consecutive: ["How many in a row"],
  severity_min: [
    "Severity of the check, at least",
    "A check that could not be decided counts as warn.",
  ],
  runs: [
    "Runs",
    "The trouble of a child run shows in the run that started it.",
    [["root", "without a parent"], ["all", "all, child runs too"]],
  ],
  period: ["In a", "In UTC; weeks begin on Monday."],
  reasons: ["An agent is down because", undefined, Object.entries(MISSED_LABELS)],
  seconds: ["A run is open for more than", "Such as 30m, 6h or 1d."],
  percents: [
    "Share of the month's events",
    undefined,
    QUOTA_PERCENTS.map((percent) => [String(percent), `${percent}%`]),
  ],
  what: ["Trouble", undefined, Object.entries(TROUBLE_LABELS)],
};

/** Returns the kind of a form; the first one for another name. */
function kindIn(form: URLSearchParams): RuleKind {
  const name = form.get("kind") ?? "";
  return name in FITTING ? name as RuleKind : "run_failed";
}

function paramField(field: FieldBuilder, kind: RuleKind, name: string, known: KnownValues): Child {
  if (name === "checks" || name === "budgets") return matchFields(field, [name], known);
  if (name === "usd") {
    const label = kind === "spend" ? "Spend of at least" : "A run costs more than";
    return field("usd", label, "US dollars.", { placeholder: "2.50" });
  }
  const [label = name, hint, options] = PARAMS[name] ?? [];
  return field(name, label, hint, options && { options });
}

/** The fields of a rule. */
function formFields(
  field: FieldBuilder,
  form: FormValues,
  channels: readonly Channel[],
  known: KnownValues,
): Child {
  const kind = kindIn(form);
  const { groups, match } = FITTING[kind];
  return [
    <fieldset>
      <legend>{RULE_KIND_WORDS[kind][0]}</legend>
      <div class="fields">
        {namesIn(RULES, form, "params").map((name) => paramField(field, kind, name, known))}
      </div>
    </fieldset>,
    match.length > 0 && <div class="fields">{matchFields(field, match, known)}</div>,
    <div class="fields">
      {groups.length > 0 &&
        field("group_by", "One incident for each", undefined, {
          options: [["", "rule"], ...groups],
        })}
      {field("severity", "Severity")}
      {field("resolve_after", "Good outcomes until it is resolved", "In a row.")}
      {field(
        "renotify_seconds",
        "Repeat the message after",
        "Such as 6h or 1d, while it stays open. Empty: never.",
      )}
    </div>,
    field(
      "channels",
      "Channels",
      channels.length === 0
        ? "There is no channel yet: incidents are shown here."
        : "None: the default channels.",
      {
        options: channels.map(({ slug, settings: { isDefault } }) => [
          slug,
          isDefault ? `${slug} (default)` : slug,
        ]),
      },
    ),
    field("enabled", "Enabled"),
  ];
}

/** The pages of rules. */
export const RULE_PAGES = objectPages(RULES, {
  frame: alertFrame("rules"),
  variants: RULE_KIND_WORDS,
  open: async (visit) => {
    const [channels, known] = await Promise.all([readAll(visit, CHANNELS), readKnownValues(visit)]);
    const [group_by] = FITTING[kindIn(new URL(visit.c.req.url).searchParams)].groups;
    return {
      empty: { params: { consecutive: 3 }, group_by },
      fields: (field, form) => formFields(field, form, channels, known),
    };
  },
  trial: {
    label: "Show what it would have done",
    run: async ({ deps, team }, form) => {
      const body = bodyIn(schemaOf(RULES, form), form);
      const { settings } = RULES.parse(body, deps.environment.now());
      const preview = await deps.rulePreviews.preview(team, settings);
      return preview === null
        ? (
          <InlineNotice kind="warn">
            Rules of this kind have no preview: the past of quotas and of the service is not stored.
          </InlineNotice>
        )
        : <InlineNotice kind="good">{previewWords(preview)}</InlineNotice>;
    },
  },
});

export const showRules = showList(RULE_PAGES, async (rows, { deps, team, isAdmin }) => {
  const overflows = await deps.incidents.overflows(team);
  return {
    subtitle: "What opens an incident",
    rows,
    columns: columnsFor(isAdmin, overflows),
    class: "fold rules",
    empty: ["No rules", "Nothing opens an incident."],
  };
});

/** Shows one rule: an admin sees its form, others its settings. */
export const showRule = showObject(
  RULE_PAGES,
  "Its open incidents are resolved, and it opens no further ones. Its history stays.",
  (rule) => {
    const { settings } = rule;
    return {
      subtitle: ruleWords(settings),
      facts: [
        ["Opens an incident", ruleWords(settings)],
        ["Severity", settings.severity],
        ["Messages", channelWords(rule)],
        ["Resolved after", countedText(settings.resolveAfter, "good outcome")],
        ["State", settings.enabled ? "enabled" : "disabled"],
      ],
    };
  },
);

/** Returns a preview as a sentence, such as "It would have opened 3 incidents in the last 14 days." */
function previewWords({ opened, fromMs, isCut }: RulePreview): string {
  const incidents = opened === 0 ? "no incident" : countedText(opened, "incident");
  if (!isCut) return `It would have opened ${incidents} in the last ${PREVIEW.days} days.`;
  return `It would have opened at least ${incidents} since ${
    formatInstant(fromMs)
  }. A preview ends ` +
    `after ${formatCount(PREVIEW.outcomesMax)} outcomes or ${PREVIEW.msMax / 1_000} s.`;
}
