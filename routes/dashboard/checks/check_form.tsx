/** The form of a check, next to its language, and the API's calls that it makes. */
import type { Child } from "hono/jsx";
import { CHECKS, type CheckSettings } from "../../../domain/checks/check.ts";
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import { parseTrial } from "../../../domain/checks/trial_body.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import { CHECK_SEVERITIES } from "../../../domain/runs/check_result.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { STATUS_LABELS } from "../agents/metrics.tsx";
import { readRecords } from "../agents/named_runs.tsx";
import { SAVED } from "../components/elements.tsx";
import { atFormField, bodyOf } from "../components/form_fields.tsx";
import { bodyIn, type FieldBuilder, submitted } from "../objects/form.tsx";
import { type KnownValues, matchFields, readKnownValues } from "../objects/known_values.tsx";
import { formOf, formView, type ObjectPages, ofObject } from "../objects/pages.tsx";
import type { View } from "../layout/page.ts";
import { checkPath, CHECKS_PATH, NEW_CHECK_PATH, queryText, TRY_PATH } from "../layout/paths.ts";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { LanguageHelp } from "./language.tsx";
import { SEVERITY_WORDS, Trial, TRIED_RUNS } from "./outcome.tsx";

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

function checkFields(field: FieldBuilder, known: KnownValues): Child {
  return (
    <>
      {field("expression", "Expression", "A run passes if it is true.", { rows: 4, isCode: true })}
      {field("description", "Description", "One line for people.")}
      <div class="fields">
        {field("severity", "A failure", SEVERITY_HINT)}
        {field("sample", SHARE_LABEL, "Above 0 and up to 1; 0.1 judges a tenth of them.")}
        {matchFields(field, ["agents", "features"], known)}
        {field("statuses", "Only runs that", undefined, {
          options: FINISH_STATUSES.map((status) => [status, STATUS_LABELS[status]]),
        })}
        {field("kinds", "Kinds of runs")}
      </div>
      {field("enabled", "Enabled")}
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

/** The pages of checks. */
export const CHECK_PAGES: ObjectPages<CheckSettings> = {
  of: CHECKS,
  listPath: CHECKS_PATH,
  newPath: NEW_CHECK_PATH,
  open: openForm,
  // A lone `*` is no restriction.
  fieldsOf: (settings) => ({
    ...settings,
    agents: settings.agents.join() === "*" ? [] : settings.agents,
  }),
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
    empty: {
      ...template && { slug: template.name, expression: template.expression },
      agents: [],
    },
    fields: (field: FieldBuilder) => checkFields(field, known),
    buttons: <TryButton />,
    below: <Trial tried={null} />,
    frame,
  };
}

/** Shows the form of a check. */
export const showCheckForm = ofObject(
  CHECK_PAGES,
  async (c, deps, check) =>
    showPage(c, formView(CHECK_PAGES, await openForm(c, deps), formOf(CHECK_PAGES, check))),
);

/** Shows how the form's check judges the latest runs. Stores nothing. */
export const submitTrial: Handler = async (c, deps) => {
  const form = submitted(c.get("form"));
  const open = await openForm(c, deps);
  showFormOnProblem(c, (problem) => {
    // Scripts replace the result and the problem of the expression, not the problems of other fields.
    const isExpression = atFormField(problem)?.field === "expression";
    const named = problem.message.replace('Field "check.sample"', SHARE_LABEL);
    const tried = isExpression ? "Nothing was tried: see the expression" : named;
    const below = <Trial tried={tried} />;
    return formView(CHECK_PAGES, { ...open, below }, form, isExpression ? problem : null);
  });
  const slug = form.get("slug");
  const settings = bodyIn(CHECKS.schema, form);
  const check = isConfigSlug(slug) ? { ...settings, slug } : settings;
  const parsed = parseTrial(bodyOf({ check, last: TRIED_RUNS }), deps.patterns);
  if (!parsed.ok) return fail(c, parsed.problem);
  const { team } = c.get("principal");
  const result = await deps.checkTrial.try(team, parsed.value);
  const runs = await readRecords(deps, team, result?.examples.map(({ run }) => run) ?? []);
  const below = result && (
    <Trial tried={{ ...result, byId: new Map(runs.map((run) => [run.id, run])) }} />
  );
  return showPage(c, formView(CHECK_PAGES, { ...open, below }, form));
};
