/** The form of a check, next to its language; a dry run shows its results in place. */
import { CHECK_SEVERITIES } from "../../../domain/runs/check_result.ts";
import { EXPRESSION_CHARS_MAX } from "../../../domain/checks/check.ts";
import { DESCRIPTION_CHARS_MAX } from "../../../domain/checks/check_body.ts";
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS } from "../../../domain/runs/flags.ts";
import { KnownLists, type KnownValues } from "../alerts/known_values.tsx";
import {
  atFormField,
  CheckBoxes,
  Field,
  formFields,
  FormProblem,
  IdentityFields,
  Select,
} from "../components/form_fields.tsx";
import { Crumbs } from "../components/elements.tsx";
import { STATUS_LABELS } from "../agents/metrics.tsx";
import type { View } from "../layout/page.ts";
import { CHECKS_PATH } from "../layout/paths.ts";
import { type CheckTexts, FORM_NAMES } from "./check_texts.ts";
import { SEVERITY_WORDS } from "./check_words.ts";
import { LanguageHelp } from "./language.tsx";
import { checkPath, templatePath, TRY_PATH } from "./paths.ts";
import { Trial, type Tried, TRIED_RUNS } from "./trial.tsx";

interface FormContent {
  readonly form: CheckTexts;
  readonly problem: Problem | null;
  /** True if the check exists. */
  readonly exists: boolean;
  readonly known: KnownValues;
  /** Result of a dry run, or why there is none; absent before the first. */
  readonly tried?: Tried | Problem;
}

/** The page of a form. */
export function checkFormView(content: FormContent): View {
  const { form: { texts }, exists } = content;
  const { slug = "" } = texts;
  return {
    title: exists ? `Edit ${slug}` : "New check",
    crumbs: (
      <Crumbs
        links={[["Checks", CHECKS_PATH], ...exists ? [[slug, checkPath(slug)] as const] : []]}
      />
    ),
    body: (
      <>
        {!exists && (
          <details class="templates" open={texts["expression"] === undefined}>
            <summary>Begin with a template</summary>
            <Gallery />
          </details>
        )}
        <div class="cols beside">
          <CheckForm {...content} />
          <LanguageHelp />
        </div>
      </>
    ),
  };
}

/** The templates; each fills in the form. */
export function Gallery() {
  return (
    <ul class="gallery">
      {CHECK_TEMPLATES.map(({ name, title, words, expression }) => (
        <li>
          <a class="row" href={templatePath(name)}>{title}</a>
          <small>{words}</small>
          <code>{expression}</code>
        </li>
      ))}
    </ul>
  );
}

function CheckForm({ form, problem: found, exists, known, tried }: FormContent) {
  const problem = atFormField(found);
  const { texts, lists } = form;
  const field = formFields(texts, problem);
  return (
    <form id="check" class="narrow" method="post" action={CHECKS_PATH}>
      {tried === undefined && <FormProblem problem={problem} fields={FORM_NAMES} />}
      <IdentityFields
        texts={texts}
        exists={exists}
        placeholder="cheap-enough"
        problem={problem}
      />
      <KnownLists known={known} />
      <ExpressionField value={texts.expression ?? ""} problem={problem} />
      <Field
        {...field("description")}
        label="Description"
        maxlength={DESCRIPTION_CHARS_MAX}
        hint="One line for people."
      />
      <div class="fields">
        <Select
          {...field("severity")}
          label="A failure"
          options={CHECK_SEVERITIES.map((name) => [name, name] as const)}
          hint={CHECK_SEVERITIES.map((name) => `${name}: ${SEVERITY_WORDS[name]}`).join("; ") + "."}
        />
        <Field
          {...field("sample")}
          label="Share of the runs"
          hint="Above 0 and up to 1; 0.1 judges a tenth of them."
        />
        <Field
          {...field("agents")}
          label="Only these agents"
          hint="Slugs, by commas; a * at the end matches any rest. Empty: all."
          list="known-agents"
        />
        <Field
          {...field("features")}
          label="Only these features"
          hint="Names, by commas. Empty: all."
          list="known-features"
        />
        <CheckBoxes
          name="statuses"
          label="Only runs that"
          options={FINISH_STATUSES.map((status) => [status, STATUS_LABELS[status]] as const)}
          chosen={lists["statuses"] ?? []}
          problem={problem}
        />
        <CheckBoxes
          name="kinds"
          label="Kinds of runs"
          options={RUN_KINDS.map((kind) => [kind, kind] as const)}
          chosen={lists["kinds"] ?? []}
          problem={problem}
        />
      </div>
      <label>
        <input type="checkbox" name="enabled" value="true" checked={texts.enabled === "true"} />
        Enabled
      </label>
      <div class="buttons">
        <button type="submit" class="btn main">{exists ? "Save" : "Create check"}</button>
        <TryButton />
      </div>
      <Trial tried={tried} isAtField={FORM_NAMES.includes(problem?.field ?? "")} />
    </form>
  );
}

/** The expression, with the place of its error. The place for the error is always there. */
function ExpressionField({ value, problem }: {
  readonly value: string;
  readonly problem: Problem | null;
}) {
  const isWrong = problem?.field === "expression";
  return (
    <div class="labeled">
      <label for="field-expression">Expression</label>
      <textarea
        id="field-expression"
        class="expression"
        name="expression"
        rows={4}
        required
        maxlength={EXPRESSION_CHARS_MAX}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        aria-describedby="expression-problem expression-hint"
        aria-invalid={isWrong ? "true" : undefined}
      >
        {value}
      </textarea>
      <small id="expression-problem" class="wrong">{isWrong && problem.message}</small>
      <small id="expression-hint">A run passes if it is true.</small>
    </div>
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
