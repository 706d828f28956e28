/** Run contributions to roll-ups, and a store that holds some roll-ups. */
import { addCounts } from "../../../domain/core/sums.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { ModelUsage } from "../../../domain/runs/model_usage.ts";
import { contributionsOf, groupName, type RollupRow } from "../../../domain/spend/rollup.ts";
import type { Contribution } from "../../../domain/runs/summary.ts";
import type { RunLabels } from "../../../domain/runs/run.ts";
import { encodeRollup, rollupKey } from "../../../kv/spend/rollups.ts";
import type { Harness } from "../harness/harness.ts";

export const TODAY = "2026-11-21";

export const DOLLAR = 1_000_000_000_000n;

/** Calls to a model that cost a dollar. */
export const LINE: ModelUsage = {
  provider: "openai",
  model: "gpt-4o",
  priced: true,
  calls: 2,
  inputTokens: 1_000n,
  outputTokens: 100n,
  cachedInputTokens: 200n,
  cost: DOLLAR,
};
/** Calls to a model without a price. */
export const UNPRICED: ModelUsage = {
  ...LINE,
  model: "brand-new",
  priced: false,
  calls: 1,
  cost: 0n,
};

/** A call that names a model and has no tokens. */
export const UNCOUNTED: ModelUsage = {
  ...UNPRICED,
  model: "gpt-4o",
  priced: null,
  inputTokens: 0n,
  outputTokens: 0n,
  cachedInputTokens: 0n,
};

/** Creates a run's contribution whose calls are those of its models. */
export function aContribution(
  fields: Omit<Partial<Contribution>, "labels"> & { labels?: Partial<RunLabels> } = {},
): Contribution {
  const { models = [LINE], labels } = fields;
  const total = (measure: "inputTokens" | "outputTokens" | "cachedInputTokens" | "cost") =>
    models.reduce((sum, line) => sum + line[measure], 0n);
  const calls = models.reduce((sum, line) => sum + line.calls, 0);
  return {
    day: TODAY,
    events: calls + 1,
    calls,
    inputTokens: total("inputTokens"),
    outputTokens: total("outputTokens"),
    cachedInputTokens: total("cachedInputTokens"),
    cost: total("cost"),
    models,
    ...fields,
    labels: { agent: "researcher", customer: null, feature: null, status: "success", ...labels },
  };
}

/** Stores the roll-ups of a team's runs. */
export async function storeSpend(
  h: Harness,
  runs: readonly Contribution[],
  team: Team = h.team,
): Promise<void> {
  const rows = new Map<string, RollupRow>();
  for (const row of runs.flatMap(contributionsOf)) {
    const name = row.day + groupName(row.group);
    const measures = rows.get(name)?.measures;
    rows.set(name, measures ? { ...row, measures: addCounts(measures, row.measures) } : row);
  }
  const sets = [...rows.values()].map((row) => ({
    key: rollupKey(team.id, row),
    value: encodeRollup(row),
  }));
  for (let at = 0; at < sets.length; at += 100) {
    await h.store.writer.commit({ team: team.id, sets: sets.slice(at, at + 100) });
  }
}

/** Measures of no runs, as in a response. */
export const NOTHING = {
  runs: 0,
  successful_runs: 0,
  cost_usd: 0,
  cost_per_successful_run: null,
  events: 0,
  llm_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  unpriced: { llm_calls: 0, input_tokens: 0, output_tokens: 0, cached_input_tokens: 0 },
};
