/** The form of a check, next to its language, and the API's calls that it makes. */
import type { Child } from "hono/jsx";
import { CHECKS, type CheckSettings } from "../../../domain/checks/check.ts";
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import { parseTrial } from "../../../domain/checks/trial_body.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import { CHECK_SEVERITIES } from "../../../domain/runs/check_result.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { STATUS_LABELS } from "../agents/metrics.tsx";
import { readRecords } from "../agents/named_runs.tsx";
import { SAVED } from "../components/elements.tsx";
import { bodyOf } from "../components/form_fields.tsx";
import { bodyIn, type FieldBuilder, type FormValues, newPathOf } from "../objects/form.tsx";
import { type KnownValues, matchFields, readKnownValues } from "../objects/known_values.tsx";
import { formOf, formView, type ObjectPages, objectPages, ofObject } from "../objects/pages.tsx";
import { seeOther, type Visit } from "../layout/page.tsx";
import { checkPath, queryText } from "../layout/paths.ts";
import { LanguageHelp } from "./language.tsx";
import { SEVERITY_WORDS, TrialOutcome, TRIED_RUNS } from "./outcome.tsx";

/** The templates; each fills in the form. */
export function Gallery() {
  return (
    <ul class="gallery">
      {CHECK_TEMPLATES.map(({ name, title, words, expression }) => (
        <li>
          <a class="row" href={newPathOf(CHECK_PAGES) + queryText([["template", name]])}>{title}</a>
          <small>{words}</small>
          <code>{expression}</code>
        </li>
      ))}
    </ul>
  );
}

const SEVERITY_HINT =
  CHECK_SEVERITIES.map((name) => `${name}: ${SEVERITY_WORDS[name]}`).join("; ") + ".";

/** The fields that say which runs a check or a judge judges. */
export function judgedFields(field: FieldBuilder, known: KnownValues): Child {
  return [
    field("sample", "Share of the runs", "Above 0 and up to 1; 0.1 judges a tenth of them."),
    matchFields(field, ["agents", "features"], known),
    field("statuses", "Only runs that", undefined, {
      options: FINISH_STATUSES.map((status) => [status, STATUS_LABELS[status]]),
    }),
    field("kinds", "Kinds of runs"),
  ];
}

/** Returns the agents that a form begins with: a lone `*` is no restriction. */
export function formAgents({ agents }: Pick<CheckSettings, "agents">): readonly string[] {
  return agents.join() === "*" ? [] : agents;
}

function checkFields(field: FieldBuilder, known: KnownValues): Child {
  return [
    field("expression", "Expression", "A run passes if it is true.", { rows: 4, isCode: true }),
    field("description", "Description", "One line for people."),
    <div class="fields">
      {field("severity", "A failure", SEVERITY_HINT)}
      {judgedFields(field, known)}
    </div>,
    field("enabled", "Enabled"),
  ];
}

export const CHECK_PAGES: ObjectPages<CheckSettings> = objectPages(CHECKS, {
  open: openForm,
  fieldsOf: (settings) => ({ ...settings, agents: formAgents(settings) }),
  trial: { label: `Try on the last ${TRIED_RUNS} runs`, run: tryCheck },
  done: (_, { object }) => seeOther(checkPath(object.slug) + SAVED),
});

/** Reads what the form offers; below it is the place for a dry run. */
async function openForm({ c, deps, team }: Visit) {
  const known = await readKnownValues({ deps, team });
  const template = CHECK_TEMPLATES.find(({ name }) => name === c.req.query("template"));
  return {
    empty: { ...template && { slug: template.name, expression: template.expression }, agents: [] },
    fields: (field: FieldBuilder) => checkFields(field, known),
    around: (form: Child) => [
      c.req.path === newPathOf(CHECK_PAGES) && (
        <details class="templates" open={template === undefined}>
          <summary>Begin with a template</summary>
          <Gallery />
        </details>
      ),
      <div class="cols beside">
        {form}
        <LanguageHelp />
      </div>,
    ],
  };
}

export const showCheckForm = ofObject(
  CHECK_PAGES,
  async (visit, check) => formView(CHECK_PAGES, await openForm(visit), formOf(CHECK_PAGES, check)),
);

/** Judges the latest runs by the check as it is typed. Stores nothing. */
async function tryCheck({ deps, team }: Visit, form: FormValues): Promise<Child> {
  const slug = form.get("slug");
  const settings = bodyIn(CHECKS.schema, form);
  const check = isConfigSlug(slug) ? { ...settings, slug } : settings;
  const trial = parseTrial(bodyOf({ check, last: TRIED_RUNS }), deps.patterns);
  const result = await deps.checkTrial.try(team, trial);
  const runs = await readRecords({ deps, team }, result?.examples.map(({ run }) => run) ?? []);
  return result && <TrialOutcome {...result} byId={new Map(runs.map((run) => [run.id, run]))} />;
}
