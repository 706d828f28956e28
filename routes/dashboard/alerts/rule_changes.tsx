/** Submissions of the forms of rules. Each is the same as the API's call. */
import { parseRule } from "../../../domain/alerts/rule_body.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { noSuch } from "../../api/config/objects.ts";
import { seeOther, showFormOnProblem } from "../layout/reply.tsx";
import { DELETED, SAVED } from "../components/elements.tsx";
import { readSetup } from "./frame.tsx";
import { madeBy } from "../../http/context.ts";
import { WRONG_SLUG } from "../components/form_fields.tsx";
import { readKnownValues } from "./known_values.tsx";
import { RULES_PATH } from "./paths.ts";
import { bodyOfRule, readRuleTexts } from "./rule_texts.ts";
import { ruleFormView } from "./rules.tsx";

/** Creates or changes a rule, or shows the form again. */
export const submitRule: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const texts = readRuleTexts(c.get("form"));
  const { slug = "", version } = texts.texts;
  const exists = version !== "0";
  const { channels } = await readSetup(c, deps);
  const known = await readKnownValues(deps, team);
  showFormOnProblem(c, (problem) => ruleFormView({ texts, problem, exists, channels, known }));
  if (!CONFIG_SLUG.test(slug)) return fail(c, WRONG_SLUG);
  const body = bodyOfRule(texts);
  if ("code" in body) return fail(c, body);
  const parsed = parseRule(body);
  if (!parsed.ok) return fail(c, parsed.problem);
  const { settings, version: seen } = parsed.value;
  const put = await deps.rules.put(team, slug, settings, seen, madeBy(c, deps));
  return put.ok ? seeOther(RULES_PATH + SAVED) : fail(c, put.problem);
};

/** Enables or disables a rule. */
export const submitRuleEnabled: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const slug = c.req.param("slug") ?? "";
  const rule = CONFIG_SLUG.test(slug) ? await deps.rules.read(team, slug) : null;
  if (rule === null) return fail(c, noSuch("rule"));
  const settings = { ...rule.settings, enabled: c.get("form").get("enabled") === "true" };
  const put = await deps.rules.put(team, slug, settings, rule.version, madeBy(c, deps));
  return put.ok ? seeOther(RULES_PATH) : fail(c, put.problem);
};

/** Deletes a rule. */
export const submitRuleDeletion: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const slug = c.req.param("slug") ?? "";
  const removed = CONFIG_SLUG.test(slug)
    ? await deps.rules.remove(team, slug, madeBy(c, deps))
    : null;
  return removed === null ? fail(c, noSuch("rule")) : seeOther(RULES_PATH + DELETED);
};
