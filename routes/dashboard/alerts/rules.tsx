/** `/dashboard/alerts/rules`: the rules of a team, and the form of each. */
import { type Rule, RULE_KINDS, type RuleOverflow } from "../../../domain/alerts/rule.ts";
import { FITTING } from "../../../domain/alerts/rule_body.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { noSuch } from "../../api/config/objects.ts";
import type { View } from "../layout/page.ts";
import { queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Crumbs, Done, KeyValues, Section } from "../components/elements.tsx";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { countedText } from "../components/format.ts";
import { type Column, Table } from "../components/table.tsx";
import { Ago } from "../components/time.tsx";
import { readSetup, showAlerts } from "./frame.tsx";
import { SeverityTag } from "./labels.tsx";
import { type KnownValues, readKnownValues } from "./known_values.tsx";
import { NEW_RULE_PATH, rulePath, RULES_PATH } from "./paths.ts";
import { RuleForm } from "./rule_form.tsx";
import { kindOf, type RuleTexts, textsOfRule } from "./rule_texts.ts";
import { channelWords, KIND_LABELS, ruleWords } from "./rule_words.ts";

export const showRules: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const [setup, overflows] = await Promise.all([readSetup(c, deps), deps.rules.overflows(team)]);
  const { rules, isAdmin, now } = setup;
  return showAlerts(c, setup, "rules", {
    title: "Rules",
    lead: "What opens an incident",
    aside: isAdmin ? <a class="btn main" href={NEW_RULE_PATH}>New rule</a> : null,
    body: (
      <>
        <Done c={c} />
        <div class="panel">
          <Table
            label="Rules"
            class="fold rules"
            columns={columnsFor(isAdmin, overflows, now)}
            rows={rules}
          />
        </div>
      </>
    ),
  });
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
  cell: ({ slug, settings: { enabled } }) => (
    <form class="one" method="post" action={rulePath(slug, "/enabled")}>
      <button
        type="submit"
        class="btn small"
        name="enabled"
        value={String(!enabled)}
        aria-label={`${enabled ? "Disable" : "Enable"} ${slug}`}
      >
        {enabled ? "Disable" : "Enable"}
      </button>
    </form>
  ),
};

/** Shows one rule: in words, and as a form. */
export const showRule: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const slug = c.req.param("slug") ?? "";
  const [setup, rule] = await Promise.all([
    readSetup(c, deps),
    CONFIG_SLUG.test(slug) ? deps.rules.read(team, slug) : null,
  ]);
  if (rule === null) return fail(c, noSuch("rule"));
  const { channels, isAdmin } = setup;
  const known = await readKnownValues(deps, team);
  const { settings, version } = rule;
  const confirms = isAdmin && c.req.query("confirm") === "delete";
  return showAlerts(c, setup, "rules", {
    title: slug,
    lead: ruleWords(settings),
    crumbs: <Crumbs links={[["Rules", RULES_PATH]]} />,
    aside: isAdmin && !confirms
      ? <a class="btn" href={rulePath(slug) + queryText([["confirm", "delete"]])}>Delete…</a>
      : null,
    body: (
      <>
        {confirms && <ConfirmDeletion rule={rule} />}
        {isAdmin
          ? (
            <RuleForm
              texts={textsOfRule(slug, settings, version === 0 ? null : version)}
              problem={null}
              exists
              channels={channels}
              known={known}
            />
          )
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
          )}
      </>
    ),
  });
};

function ConfirmDeletion({ rule: { slug } }: { readonly rule: Rule }) {
  return (
    <ConfirmForm
      action={rulePath(slug, "/delete")}
      title={`Delete the rule “${slug}”?`}
      submit="Delete rule"
      cancelTo={rulePath(slug)}
    >
      <p>Its open incidents are resolved, and it opens no further ones. Its history stays.</p>
    </ConfirmForm>
  );
}

/** Shows the kinds of rules, or the form of one. */
export const showNewRule: Handler = async (c, deps) => {
  const name = c.req.query("kind");
  if (name === undefined) {
    return showPage(c, {
      title: "New rule",
      crumbs: <Crumbs links={[["Rules", RULES_PATH]]} />,
      body: (
        <Section title="What is it about?">
          <ul class="pick">
            {RULE_KINDS.map((kind) => (
              <li>
                <a class="row" href={NEW_RULE_PATH + queryText([["kind", kind]])}>
                  {KIND_LABELS[kind]}
                </a>
              </li>
            ))}
          </ul>
        </Section>
      ),
    });
  }
  const { channels } = await readSetup(c, deps);
  return showPage(
    c,
    ruleFormView({
      texts: newRule(kindOf(name)),
      problem: null,
      exists: false,
      channels,
      known: await readKnownValues(deps, c.get("principal").team),
    }),
  );
};

/** Returns the form of a new rule: version 0 replaces no other rule. */
function newRule(kind: RuleTexts["kind"]): RuleTexts {
  const texts = {
    version: "0",
    consecutive: "3",
    severity_min: "warn",
    period: "day",
    duration: "1d",
    group_by: FITTING[kind].groups[0] ?? "",
    severity: "warning",
    resolve_after: "1",
    enabled: "true",
  };
  return {
    kind,
    texts,
    lists: {
      statuses: ["failed", "timeout"],
      reasons: ["missed", "failed", "overrun"],
      percents: ["80", "100"],
      what: ["dead_stage", "dead_delivery", "broken_channel"],
    },
  };
}

interface RuleFormContent {
  readonly texts: RuleTexts;
  readonly problem: Problem | null;
  readonly exists: boolean;
  readonly channels: readonly Channel[];
  readonly known: KnownValues;
}

/** The page of a form. */
export function ruleFormView(content: RuleFormContent): View {
  const { texts, exists } = content;
  return {
    title: exists ? texts.texts["slug"] ?? "" : "New rule",
    lead: KIND_LABELS[texts.kind],
    crumbs: (
      <Crumbs
        links={[["Rules", RULES_PATH], ...exists ? [] : [["Kinds", NEW_RULE_PATH] as const]]}
      />
    ),
    body: <RuleForm {...content} />,
  };
}
