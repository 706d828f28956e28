/**
 * Stores alert rules.
 *
 * @module
 */
import { ruleFields } from "../../domain/alerts/rule_body.ts";
import type { RuleSettings } from "../../domain/alerts/rule.ts";
import { DEFAULT_RULES } from "../../domain/alerts/rules.ts";
import type { RuleStore } from "../../domain/alerts/store.ts";
import { workSet } from "../work/store.ts";
import { createConfigStore } from "../config/store.ts";
import type { ObjectDeps } from "../team/plan.ts";
import { readOverflows } from "./rows.ts";

/** Creates the store of rules. The work loop looks at what a changed rule leaves open. */
export function createRuleStore(deps: ObjectDeps): RuleStore {
  const rules = createConfigStore<RuleSettings>(deps, {
    kind: "rule",
    idPrefix: "rul",
    defaults: DEFAULT_RULES,
    settle: ({ sent }) => Promise.resolve({ ok: true, value: sent }),
    auditFields: ruleFields,
    followUp: ({ team, slug, atMs }) => ({
      sets: [workSet({ at: atMs, kind: "rule", team, name: slug })],
      deletes: [],
    }),
  });
  const { store } = deps;
  return { ...rules, overflows: ({ id }) => store.reads.run(id, () => readOverflows(store, id)) };
}
