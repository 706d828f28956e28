/** The form of a judge, with a dry run that says first what it may cost. */
import type { Child } from "hono/jsx";
import { isConfigSlug } from "../../../domain/config/body.ts";
import { existing } from "../../../domain/core/errors.ts";
import { JUDGES } from "../../../domain/judges/judge_body.ts";
import { JUDGE_TRIAL, parseJudgeTrial, type TriedRun } from "../../../domain/judges/judge_trial.ts";
import { NO_SUCH_RUN } from "../../api/runs/runs.ts";
import { readRecords } from "../agents/named_runs.tsx";
import { formAgents, judgedFields } from "../checks/check_form.tsx";
import { judgedColumns } from "../checks/outcome.tsx";
import { InlineNotice, LabelSign, Money, SAVED } from "../components/elements.tsx";
import { readInteger } from "../components/form_fields.tsx";
import { countedText } from "../components/format.ts";
import { type Column, column, numberColumn, Table } from "../components/table.tsx";
import { seeOther, type Visit } from "../layout/page.tsx";
import { judgePath } from "../layout/paths.ts";
import {
  bodyIn,
  type FieldBuilder,
  type FormValues,
  trialPathOf,
  TryButton,
} from "../objects/form.tsx";
import { type KnownValues, readKnownValues } from "../objects/known_values.tsx";
import { objectPages } from "../objects/pages.tsx";
import { labelOf, reasonText, valueText } from "./results.tsx";

const RUBRIC = "Score how far {{output}} reaches {{goal}}: 1 not at all, 5 completely.";

const NO_CONNECTION = "No connection to a model is set. The operator sets RUNLEDGER_LLM, such as " +
  "openai=https://api.openai.com/v1,OPENAI_API_KEY, and starts the service again.";

function judgeFields(field: FieldBuilder, known: KnownValues, connections: readonly string[]) {
  return [
    connections.length === 0 && <InlineNotice kind="warn">{NO_CONNECTION}</InlineNotice>,
    field("rubric", "Rubric", "Only the fields that it names in braces are sent to the model.", {
      rows: 5,
    }),
    <div class="fields">
      {field("connection", "Connection", undefined, { options: connections })}
      {field("model", "Model", "It must have a price on the rate card.")}
      {field("scale", "The model answers with", undefined, {
        options: [["score", "a number"], ["boolean", "true or false"]],
      })}
      {field("min", "Worst number", undefined, { type: "number" })}
      {field("max", "Best number", undefined, { type: "number" })}
      {field("pass_at", "Passes from", "On a scale from 0, the worst, to 1, the best.")}
      {field("daily_usd", "Cap a day", "US dollars of a UTC day, never passed.")}
      {field("max_output_tokens", "Tokens of an answer", "The most that a call may use.")}
      {judgedFields(field, known)}
    </div>,
    field("description", "Description", "One line for people."),
    field("enabled", "Enabled"),
  ];
}

/** Returns the body of the API's call: the bounds of a number belong to its scale. */
function bodyOf(form: FormValues) {
  const [min, max] = ["min", "max"].map((name) => readInteger(form.get(name) ?? ""));
  const type = form.get("scale") ?? "score";
  const result = type === "score" ? { type, min, max } : { type };
  return { ...bodyIn(JUDGES.schema, form), result };
}

/** The pages of judges. */
export const JUDGE_PAGES = objectPages(JUDGES, {
  bodyOf,
  fieldsOf: (settings) => {
    const { result } = settings;
    const [min, max] = result.type === "score" ? [result.min, result.max] : ["", ""];
    return {
      ...JUDGES.fieldsOf(settings),
      ...{ scale: result.type, min: `${min}`, max: `${max}` },
      agents: formAgents(settings),
    };
  },
  open: async ({ deps, team }) => {
    const known = await readKnownValues({ deps, team });
    const [connection] = deps.judgeConnections;
    return {
      empty: { connection, rubric: RUBRIC, scale: "score", min: "1", max: "5", agents: [] },
      fields: (field) => judgeFields(field, known, deps.judgeConnections),
    };
  },
  trial: { label: `Try on the last ${JUDGE_TRIAL.runsMax} runs`, run: tryJudge },
  done: (_, { object }) => seeOther(judgePath(object.slug) + SAVED),
});

/** Shows what a dry run may cost; with consent, judges the latest runs and stores no result. */
async function tryJudge({ deps, team }: Visit, form: FormValues): Promise<Child> {
  const { version: _, ...settings } = bodyOf(form) as Record<string, unknown>;
  const slug = form.get("slug");
  const judge = isConfigSlug(slug) ? { ...settings, slug } : settings;
  const estimate = form.get("paid") !== "true";
  const trial = parseJudgeTrial({ value: { judge, estimate } });
  const { runs, left } = existing(await deps.judgeTrials.try(team, trial), NO_SUCH_RUN);
  const records = await readRecords({ deps, team }, runs.map(({ run }) => run));
  const byId = new Map(records.map((run) => [run.id, run]));
  const callable = runs.filter(({ costMax }) => costMax !== null);
  const sum = (amounts: readonly (bigint | null)[]) =>
    amounts.reduce<bigint>((total, amount) => total + (amount ?? 0n), 0n);
  if (runs.length === 0) {
    return <InlineNotice kind="warn">No closed run fits what is chosen above.</InlineNotice>;
  }
  return [
    <InlineNotice kind="good">
      <p>
        {estimate ? `${countedText(callable.length, "call")} for at most ` : "It cost "}
        <Money of={sum(runs.map(({ cost, costMax }) => estimate ? costMax : cost))} />;{" "}
        <Money of={left} /> are left today.{" "}
        {estimate ? "Nothing was sent yet." : "No result is stored on the runs."}
      </p>
      {estimate && callable.length > 0 && (
        <TryButton path={trialPathOf(JUDGE_PAGES)} name="paid" value="true">
          Judge them now
        </TryButton>
      )}
    </InlineNotice>,
    <Table label="Runs" class="fold trial" columns={judgedColumns(byId, COLUMNS)} rows={runs} />,
  ];
}

const COLUMNS: readonly Column<TriedRun>[] = [
  { head: "Outcome", cell: (of) => <LabelSign of={labelOf(of)} /> },
  numberColumn("Value", valueText),
  column(
    "Why",
    { class: "whole" },
    ({ reasoning, reason }) => reasoning ?? (reason === null ? "" : reasonText(reason)),
  ),
  numberColumn(
    "Cost",
    ({ state, cost, costMax }) =>
      state === "pending" && costMax !== null
        ? ["at most ", <Money of={costMax} />]
        : <Money of={cost} />,
  ),
];
