/**
 * Stores alert rules.
 *
 * @module
 */
import { ruleFields } from "../../domain/alerts/rule_body.ts";
import type { RuleOverflow, RuleSettings } from "../../domain/alerts/rule.ts";
import { DEFAULT_RULES } from "../../domain/alerts/rules.ts";
import type { RuleStore } from "../../domain/alerts/store.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { dueSet } from "../clock/due_rows.ts";
import { type ConfigDeps, createConfigStore } from "../config/store.ts";

/** Dependencies of the store. */
export interface RuleStoreDeps extends ConfigDeps {
  /** Reads the rules of which groups share one incident, by slug. */
  readonly overflows: (team: TeamId) => Promise<ReadonlyMap<string, RuleOverflow>>;
}

/** Creates the store of rules. The clock looks at what a changed rule leaves open. */
export function createRuleStore(deps: RuleStoreDeps): RuleStore {
  const rules = createConfigStore<RuleSettings>(deps, {
    kind: "rule",
    idPrefix: "rul",
    defaults: DEFAULT_RULES,
    settle: ({ sent }) => Promise.resolve({ ok: true, value: sent }),
    auditFields: ruleFields,
    followUp: ({ team, slug, atMs }) => ({
      sets: [dueSet({ at: atMs, kind: "rule", team, name: slug })],
      deletes: [],
    }),
  });
  const { reads } = deps.store;
  return { ...rules, overflows: ({ id }) => reads.run(id, () => deps.overflows(id)) };
}
