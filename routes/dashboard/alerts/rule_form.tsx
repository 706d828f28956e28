/** The form of a rule: one for each kind. */
import type { Child } from "hono/jsx";
import {
  BAD_STATUSES,
  GROUPS,
  MISSED_REASONS,
  OUTCOMES_MAX,
  type RuleKind,
  type RuleSettings,
  SERVICE_TROUBLES,
  SPEND_PERIODS,
} from "../../../domain/alerts/rule.ts";
import { FITTING } from "../../../domain/alerts/rule_body.ts";
import { QUOTA_PERCENTS } from "../../../domain/alerts/rules.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { CHECK_SEVERITIES } from "../../../domain/runs/check_result.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import {
  atFormField,
  CheckBoxes,
  Field,
  formFields,
  FormProblem,
  IdentityFields,
  Select,
} from "../components/form_fields.tsx";
import { FORM_NAMES, type RuleTexts } from "./rule_texts.ts";
import { KnownLists, type KnownValues } from "./known_values.tsx";
import { RULES_PATH } from "./paths.ts";
import { KIND_LABELS, MISSED_LABELS, TROUBLE_LABELS } from "./rule_words.ts";

interface RuleFormProps {
  readonly texts: RuleTexts;
  readonly problem: Problem | null;
  /** True if the rule exists. */
  readonly exists: boolean;
  readonly channels: readonly Channel[];
  readonly known: KnownValues;
}

/** Fields of the body that have another name in the form. */
const RENAMED = { seconds: "duration", renotify_seconds: "renotify" };

export function RuleForm({ texts, problem: found, exists, channels, known }: RuleFormProps) {
  const problem = atFormField(found, RENAMED);
  const field = formFields(texts.texts, problem);
  const props = { texts, problem, field };
  const { kind } = texts;
  const { groups } = FITTING[kind];
  return (
    <form class="narrow" method="post" action={RULES_PATH}>
      <FormProblem problem={problem} fields={FORM_NAMES} />
      <input type="hidden" name="kind" value={kind} />
      <IdentityFields
        texts={texts.texts}
        exists={exists}
        placeholder={`my-${kind.replace("_", "-")}`}
        problem={problem}
      />
      <fieldset>
        <legend>{KIND_LABELS[kind]}</legend>
        <div class="fields">{PARAMS[kind](props)}</div>
      </fieldset>
      <KnownLists known={known} />
      <MatchFields {...props} />
      <div class="fields">
        {groups.length > 0 && (
          <Select
            {...field("group_by")}
            label="One incident for each"
            options={[
              ["", "rule"],
              ...GROUPS.filter((group) => groups.includes(group))
                .map((group) => [group, group] as const),
            ]}
          />
        )}
        <Select
          {...field("severity")}
          label="Severity"
          options={SEVERITIES.map((name) => [name, name] as const)}
        />
        <Field
          {...field("resolve_after")}
          label="Good outcomes until it is resolved"
          type="number"
          min={1}
          max={OUTCOMES_MAX}
          hint="In a row."
        />
        <Field
          {...field("renotify")}
          label="Repeat the message after"
          hint="Such as 6h or 1d, while it stays open. Empty: never."
        />
      </div>
      <CheckBoxes
        name="channels"
        label="Channels"
        options={channels.map(({ slug, settings }) =>
          [slug, settings.isDefault ? `${slug} (default)` : slug] as const
        )}
        chosen={texts.lists["channels"] ?? []}
        problem={problem}
        hint={channels.length === 0
          ? "There is no channel yet: incidents are shown here."
          : "None: the default channels."}
      />
      <label>
        <input
          type="checkbox"
          name="enabled"
          value="true"
          checked={texts.texts.enabled === "true"}
        />
        Enabled
      </label>
      <button type="submit" class="btn main">{exists ? "Save" : "Create rule"}</button>
    </form>
  );
}

interface FieldsProps extends Pick<RuleFormProps, "texts" | "problem"> {
  readonly field: ReturnType<typeof formFields>;
}

/** The fields of the parameters of each kind. */
const PARAMS: Readonly<Record<RuleKind, (props: FieldsProps) => Child>> = {
  run_failed: (props) => (
    <>
      {boxes(props, "statuses", "Runs that", BAD_STATUSES, {
        failed: "failed",
        timeout: "timed out",
      })}
      {inARow(props)}
    </>
  ),
  check_failed: (props) => (
    <>
      <Field
        {...props.field("checks")}
        label="Only these checks"
        hint="Slugs, by commas. Empty: all."
      />
      <Select
        {...props.field("severity_min", "warn")}
        label="Severity of the check, at least"
        options={CHECK_SEVERITIES.map((name) => [name, name] as const)}
        hint="A check that could not be decided counts as warn."
      />
      {inARow(props)}
    </>
  ),
  run_cost: (props) => dollars(props, "A run costs more than, US dollars"),
  spend: (props) => (
    <>
      {dollars(props, "Spend of at least, US dollars")}
      <Select
        {...props.field("period", "day")}
        label="In a"
        options={SPEND_PERIODS.map((name) => [name, name] as const)}
        hint="In UTC; weeks begin on Monday."
      />
    </>
  ),
  missed: (props) =>
    boxes(props, "reasons", "An agent is down because", MISSED_REASONS, MISSED_LABELS),
  stuck: ({ field }) => (
    <Field
      {...field("duration")}
      label="A run is open for more than"
      hint="Such as 30m, 6h or 1d."
    />
  ),
  unpriced: () => <p class="soft">A call of a model that has no price.</p>,
  quota: (props) =>
    boxes(
      props,
      "percents",
      "Share of the month's events",
      QUOTA_PERCENTS.map(String),
      Object.fromEntries(QUOTA_PERCENTS.map((percent) => [percent, `${percent}%`])),
    ),
  service: (props) => boxes(props, "what", "Trouble", SERVICE_TROUBLES, TROUBLE_LABELS),
};

function inARow({ field }: FieldsProps): Child {
  return (
    <Field
      {...field("consecutive")}
      label="How many in a row"
      type="number"
      min={1}
      max={OUTCOMES_MAX}
    />
  );
}

function boxes(
  { texts, problem }: FieldsProps,
  name: string,
  label: string,
  values: readonly string[],
  labels: Readonly<Record<string, string>>,
): Child {
  const options = values.map((value) => [value, labels[value] ?? value] as const);
  return <CheckBoxes {...{ name, label, options, problem }} chosen={texts.lists[name] ?? []} />;
}

function dollars({ field }: FieldsProps, label: string): Child {
  return (
    <Field
      {...field("usd")}
      label={label}
      required
      placeholder="2.50"
    />
  );
}

/** Labels of the lists that a rule can be restricted to. */
const MATCH_LABELS: Readonly<Record<keyof RuleSettings["match"], readonly [string, string]>> = {
  agents: [
    "Only these agents",
    "Slugs, by commas; a * at the end matches any rest. Empty: all.",
  ],
  customers: ["Only these customers", "Ids, by commas. Empty: all."],
  features: ["Only these features", "Names, by commas. Empty: all."],
};

function MatchFields({ texts, field }: FieldsProps) {
  const { match } = FITTING[texts.kind];
  if (match.length === 0) return null;
  return (
    <div class="fields">
      {match.map((name) => (
        <Field
          {...field(name)}
          label={MATCH_LABELS[name][0]}
          hint={MATCH_LABELS[name][1]}
          list={`known-${name}`}
        />
      ))}
    </div>
  );
}
