/** Submissions of the forms of checks. Each is the same as the API's call. */
import { parseCheck } from "../../../domain/checks/check_body.ts";
import { parseTrial } from "../../../domain/checks/trial_body.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { noSuch } from "../../api/config/objects.ts";
import { WRONG_SLUG } from "../components/form_fields.tsx";
import { DELETED, SAVED } from "../components/elements.tsx";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { CHECKS_PATH } from "../layout/paths.ts";
import { readKnownValues } from "../alerts/known_values.tsx";
import { readRecords } from "../agents/named_runs.tsx";
import { checkFormView } from "./check_form.tsx";
import { bodyOfCheck, bodyOfTrial, readCheckTexts } from "./check_texts.ts";
import { checkPath } from "./paths.ts";
import { TRIED_RUNS } from "./trial.tsx";

/** Creates or changes a check, or shows the form again. */
export const submitCheck: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const form = readCheckTexts(c.get("form"));
  const { slug = "", version } = form.texts;
  const exists = version !== "0";
  const known = await readKnownValues(deps, team);
  showFormOnProblem(c, (problem) => checkFormView({ form, problem, exists, known }));
  if (!isConfigSlug(slug)) return fail(c, WRONG_SLUG);
  const parsed = parseCheck(bodyOfCheck(form));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { settings, version: seen } = parsed.value;
  const put = await deps.checks.put(team, slug, settings, seen, madeBy(c, deps));
  return put.ok ? seeOther(checkPath(slug) + SAVED) : fail(c, put.problem);
};

/** Shows what the form's check says of the latest runs. Stores nothing. */
export const submitTrial: Handler = async (c, deps) => {
  const form = readCheckTexts(c.get("form"));
  const exists = form.texts["version"] !== "0";
  const { team } = c.get("principal");
  const known = await readKnownValues(deps, team);
  showFormOnProblem(
    c,
    (problem) => checkFormView({ form, problem, exists, known, tried: problem }),
  );
  const parsed = parseTrial(bodyOfTrial(form, TRIED_RUNS), deps.patterns);
  if (!parsed.ok) return fail(c, parsed.problem);
  const found = await deps.checkTrial.try(team, parsed.value);
  const runsOf = await readRecords(deps, team, found?.examples.map(({ run }) => run) ?? []);
  const tried = found && { ...found, runsOf };
  return showPage(c, checkFormView({ form, problem: null, exists, known, ...tried && { tried } }));
};

/** Deletes a check. */
export const submitCheckDeletion: Handler = async (c, deps) => {
  const slug = c.req.param("slug") ?? "";
  const removed = isConfigSlug(slug)
    ? await deps.checks.remove(c.get("principal").team, slug, madeBy(c, deps))
    : null;
  return removed === null ? fail(c, noSuch("check")) : seeOther(CHECKS_PATH + DELETED);
};
