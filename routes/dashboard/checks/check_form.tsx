/** The form of a check, next to its language, and the API's calls that it makes. */
import type { Child } from "hono/jsx";
import {
  type Check,
  CHECKS,
  type CheckSettings,
  DESCRIPTION_CHARS_MAX,
  EXPRESSION_CHARS_MAX,
} from "../../../domain/checks/check.ts";
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import { parseTrial } from "../../../domain/checks/trial_body.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import { CHECK_SEVERITIES } from "../../../domain/runs/check_result.ts";
import { RUN_KINDS } from "../../../domain/runs/flags.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { STATUS_LABELS } from "../agents/metrics.tsx";
import { readRecords } from "../agents/named_runs.tsx";
import { type KnownValues, matchFields, readKnownValues } from "../alerts/known_values.tsx";
import { SAVED } from "../components/elements.tsx";
import { atFormField, bodyOf } from "../components/form_fields.tsx";
import { formView, type ObjectForms, ofObject } from "../components/object_pages.tsx";
import type { View } from "../layout/page.ts";
import { checkPath, CHECKS_PATH, NEW_CHECK_PATH, queryText, TRY_PATH } from "../layout/paths.ts";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { LanguageHelp } from "./language.tsx";
import { SEVERITY_WORDS, Trial, TRIED_RUNS } from "./outcome.tsx";

import * as objects from "../components/object_forms.tsx";

/** The templates; each fills in the form. */
export function Gallery() {
  return (
    <ul class="gallery">
      {CHECK_TEMPLATES.map(({ name, title, words, expression }) => (
        <li>
          <a class="row" href={NEW_CHECK_PATH + queryText([["template", name]])}>{title}</a>
          <small>{words}</small>
          <code>{expression}</code>
        </li>
      ))}
    </ul>
  );
}

const SEVERITY_HINT =
  CHECK_SEVERITIES.map((name) => `${name}: ${SEVERITY_WORDS[name]}`).join("; ") + ".";

function checkFormFields(form: objects.Fields, known: KnownValues): Child {
  return (
    <>
      {form.text("expression", "Expression", "A run passes if it is true.", {
        ...{ rows: 4, required: true, maxlength: EXPRESSION_CHARS_MAX, isCode: true },
      })}
      {form.text("description", "Description", "One line for people.", {
        maxlength: DESCRIPTION_CHARS_MAX,
      })}
      <div class="fields">
        {form.choice("severity", "A failure", CHECK_SEVERITIES, SEVERITY_HINT)}
        {form.text(
          "sample",
          SHARE_LABEL,
          "Above 0 and up to 1; 0.1 judges a tenth of them.",
        )}
        {matchFields(form, ["agents", "features"], known)}
        {form.boxes(
          "statuses",
          "Only runs that",
          FINISH_STATUSES.map((status) => [status, STATUS_LABELS[status]]),
        )}
        {form.boxes("kinds", "Kinds of runs", RUN_KINDS)}
      </div>
      {form.tick("enabled", "Enabled")}
    </>
  );
}

/** Judges the latest runs by the fields as they are; without scripts, it leads to a page. */
function TryButton() {
  return (
    <button
      type="submit"
      class="btn"
      formaction={TRY_PATH}
      hx-post={TRY_PATH}
      hx-target="#trial"
      hx-swap="innerHTML"
      hx-select="#trial > *, main > .empty"
      hx-select-oob="#expression-problem"
      hx-sync="this:drop"
    >
      Try on the last {TRIED_RUNS} runs
    </button>
  );
}

/** Label of the field that a dry run may refuse without a place for the reason. */
const SHARE_LABEL = "Share of the runs";

/** Fields with several values. */
const LISTS = ["kinds", "statuses"] as const;

/** Fills in the form from a check; a lone `*` is no restriction. */
function typedOfCheck({ slug, settings, version }: Check): objects.Typed {
  const agents = settings.agents.join() === "*" ? [] : settings.agents;
  return objects.typedOf({ ...settings, agents, slug, version });
}

/** Fields of the settings, and the reader of a share: another text is for the parser to refuse. */
const SETTINGS = [
  ...LISTS,
  "expression",
  "description",
  "severity",
  "agents",
  "features",
  "sample",
];
const READERS = {
  sample: (text: string) => /^\d{0,2}\.?\d{1,9}$/.test(text) ? Number(text) : text,
};

/** The forms of checks. */
export const CHECK_FORMS: ObjectForms<CheckSettings> = {
  kind: "check",
  listPath: CHECKS_PATH,
  newPath: NEW_CHECK_PATH,
  storeOf: ({ checks }) => checks,
  lists: LISTS,
  parse: (typed, now) =>
    CHECKS.parse(objects.valuesOf(typed, [...SETTINGS, "version", "enabled"], READERS), now),
  open: openForm,
  done: (_c, _deps, slug) => seeOther(checkPath(slug) + SAVED),
};

/** Reads what the form offers; below it is the place for a dry run. */
async function openForm(c: RequestContext, deps: AppDeps) {
  const known = await readKnownValues(deps, c.get("principal").team);
  const template = CHECK_TEMPLATES.find(({ name }) => name === c.req.query("template"));
  const frame = (view: View): View => ({
    ...view,
    body: (
      <>
        {c.req.path === NEW_CHECK_PATH && (
          <details class="templates" open={template === undefined}>
            <summary>Begin with a template</summary>
            <Gallery />
          </details>
        )}
        <div class="cols beside">
          {view.body}
          <LanguageHelp />
        </div>
      </>
    ),
  });
  return {
    empty: objects.typedOf({
      ...template && { slug: template.name, expression: template.expression },
      version: 0,
      severity: "fail",
      sample: 1,
      enabled: true,
      kinds: RUN_KINDS,
      statuses: FINISH_STATUSES,
    }),
    fields: (form: objects.Fields) => checkFormFields(form, known),
    buttons: <TryButton />,
    below: <Trial tried={null} />,
    frame,
  };
}

/** Shows the form of a check. */
export const showCheckForm = ofObject(
  CHECK_FORMS,
  async (c, deps, check) =>
    showPage(c, formView(CHECK_FORMS, await openForm(c, deps), typedOfCheck(check))),
);

/** Shows how the form's check judges the latest runs. Stores nothing. */
export const submitTrial: Handler = async (c, deps) => {
  const typed = objects.typedIn(c.get("form"), LISTS);
  const open = await openForm(c, deps);
  showFormOnProblem(c, (problem) => {
    // Scripts replace the result and the problem of the expression, not the problems of other fields.
    const isExpression = atFormField(problem)?.field === "expression";
    const named = problem.message.replace('Field "check.sample"', SHARE_LABEL);
    const tried = isExpression ? "Nothing was tried: see the expression" : named;
    const below = <Trial tried={tried} />;
    return formView(CHECK_FORMS, { ...open, below }, typed, isExpression ? problem : null);
  });
  const { slug = "" } = typed.texts;
  const settings = objects.valuesOf(typed, SETTINGS, READERS);
  const check = isConfigSlug(slug) ? { ...settings, slug } : settings;
  const parsed = parseTrial(bodyOf({ check, last: TRIED_RUNS }), deps.patterns);
  if (!parsed.ok) return fail(c, parsed.problem);
  const { team } = c.get("principal");
  const result = await deps.checkTrial.try(team, parsed.value);
  const runs = await readRecords(deps, team, result?.examples.map(({ run }) => run) ?? []);
  const below = result && (
    <Trial tried={{ ...result, byId: new Map(runs.map((run) => [run.id, run])) }} />
  );
  return showPage(c, formView(CHECK_FORMS, { ...open, below }, typed));
};
