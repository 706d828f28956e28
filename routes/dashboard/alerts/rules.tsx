/** `/dashboard/alerts/rules`: the rules of a team, and the form of each. */
import type { Rule, RuleOverflow } from "../../../domain/alerts/rule.ts";
import { mayAdmin } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { Done, KeyValues } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";
import { listPage } from "../components/list_page.tsx";
import { ObjectForm } from "../components/object_forms.tsx";
import { objectView, ofObject } from "../components/object_pages.tsx";
import type { Column } from "../components/table.tsx";
import { Ago } from "../components/time.tsx";
import { seeOther, showPage } from "../layout/reply.tsx";
import { readSetup, showAlerts } from "./frame.tsx";
import { SeverityTag } from "./labels.tsx";
import { NEW_RULE_PATH, rulePath, RULES_PATH } from "./paths.ts";
import { RULE_FORMS, typedOfRule } from "./rule_form.tsx";
import { channelWords, ruleWords } from "./rule_words.ts";

export const showRules: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const [setup, overflows] = await Promise.all([
    readSetup(c, deps),
    deps.incidents.overflows(team),
  ]);
  const { rules, isAdmin, now } = setup;
  const view = listPage({
    title: "Rules",
    lead: "What opens an incident",
    aside: isAdmin ? <a class="btn main" href={NEW_RULE_PATH}>New rule</a> : null,
    notice: <Done c={c} />,
    table: {
      label: "Rules",
      class: "fold rules",
      columns: columnsFor(isAdmin, overflows, now),
      rows: rules,
    },
    empty: ["No rules", "Nothing opens an incident."],
  });
  return showAlerts(c, setup, "rules", view);
};

function columnsFor(
  isAdmin: boolean,
  overflows: ReadonlyMap<string, RuleOverflow>,
  now: number,
): readonly Column<Rule>[] {
  return [
    {
      head: "Rule",
      isName: true,
      cell: ({ slug, version, settings }) => (
        <>
          <a class="row" href={rulePath(slug)}>{slug}</a>
          {version === 0 && <span class="tag">default</span>}
          {!settings.enabled && <span class="tag">disabled</span>}
        </>
      ),
    },
    {
      head: "Opens an incident",
      class: "whole",
      cell: ({ slug, settings }) => {
        const overflow = overflows.get(slug);
        return (
          <>
            {ruleWords(settings)}
            {overflow !== undefined && (
              <span class="under more">
                More than 1,000 groups since{" "}
                <Ago at={overflow.since} now={now} />: further ones share one incident
              </span>
            )}
          </>
        );
      },
    },
    { head: "Severity", cell: ({ settings }) => <SeverityTag of={settings.severity} /> },
    { head: "Messages", before: "to", cell: channelWords },
    ...isAdmin ? [ENABLE] : [],
  ];
}

const ENABLE: Column<Rule> = {
  head: <span class="sr">Action</span>,
  class: "end-cell",
  cell: ({ slug, settings: { enabled } }) => {
    const verb = enabled ? "Disable" : "Enable";
    return (
      <form class="one" method="post" action={rulePath(slug, "/enabled")}>
        <button
          type="submit"
          class="btn small"
          name="enabled"
          value={String(!enabled)}
          aria-label={`${verb} ${slug}`}
        >
          {verb}
        </button>
      </form>
    );
  },
};

/** Shows one rule: an admin sees its form, others its settings. */
export const showRule = ofObject(RULE_FORMS, async (c, deps, rule) => {
  const { slug, settings } = rule;
  const form = await RULE_FORMS.open(c, deps);
  const view = objectView(c, RULE_FORMS, slug, {
    lead: ruleWords(settings),
    deletion: "Its open incidents are resolved, and it opens no further ones. Its history stays.",
    body: mayAdmin(c.get("principal"))
      ? <ObjectForm pages={RULE_FORMS} open={form} typed={typedOfRule(rule)} />
      : (
        <KeyValues
          pairs={[
            ["Opens an incident", ruleWords(settings)],
            ["Severity", settings.severity],
            ["Messages", channelWords(rule)],
            ["Resolved after", countedText(settings.resolveAfter, "good outcome")],
            ["State", settings.enabled ? "enabled" : "disabled"],
          ]}
        />
      ),
  });
  return showPage(c, form.frame(view));
});

/** Enables or disables a rule. */
export const submitRuleEnabled = ofObject(RULE_FORMS, async (c, deps, rule) => {
  const { team } = c.get("principal");
  const settings = { ...rule.settings, enabled: c.get("form").get("enabled") === "true" };
  const put = await deps.rules.put(team, rule.slug, settings, rule.version, madeBy(c, deps));
  return put.ok ? seeOther(RULES_PATH) : fail(c, put.problem);
});
