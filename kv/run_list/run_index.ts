/**
 * The index of runs: by agent, customer, feature, model, parent, status, kind, magnitude of cost
 * and traits, each sorted by start. Runs without an opening have no start; they are indexed only as
 * orphans, by the arrival of their first part.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keyText } from "../writer/group.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import { indexValue, isSameValue } from "./index_value.ts";
import { agentPart, costPart, customerPart, featurePart, modelPart } from "../base/index_parts.ts";

/** Labels of a run whose summary has none. */
const NO_LABELS = { agent: null, customer: null, feature: null, status: "running" } as const;

export interface IndexRow {
  readonly key: Deno.KvKey;
  readonly value: Uint8Array;
}

/** Builds the index rows of a run, by the text of their keys. */
export function indexRows(
  team: TeamId,
  run: RunId,
  summary: RunSummary | null,
): ReadonlyMap<string, IndexRow> {
  const rows = new Map<string, IndexRow>();
  if (summary === null) return rows;
  const { contribution, listed, shown } = summary;
  const { at } = listed;
  const indexedLabels = contribution?.labels ?? shown.sums?.labels ?? NO_LABELS;
  const all = indexValue(listed.kind, indexedLabels);
  const add = (kind: RunIndexKind, name: string, value = all) => {
    const key = keys.runBy(team, kind, name, at, run);
    rows.set(keyText(key), { key, value });
  };
  if (contribution === null) {
    add("has", "orphan");
    return rows;
  }
  const { labels, models, cost } = contribution;
  if (labels.agent !== null) add("agent", agentPart(labels.agent));
  if (labels.customer !== null) add("customer", customerPart(labels.customer));
  for (const model of models) add("model", modelPart(model));
  if (summary.parent !== undefined) add("parent", summary.parent);
  if (labels.feature !== null) add("feature", featurePart(labels.feature));
  add("status", labels.status);
  add("kind", listed.kind);
  if (cost > 0n) add("cost", costPart(cost), indexValue(listed.kind, labels, cost));
  for (const trait of listed.has) add("has", trait);
  return rows;
}

/** Returns the index rows to set and delete when a run's summary changes. */
export function indexChange(
  team: TeamId,
  run: RunId,
  before: RunSummary | null,
  after: RunSummary | null,
): { readonly sets: readonly IndexRow[]; readonly deletes: Deno.KvKey[] } {
  const old = indexRows(team, run, before);
  const now = indexRows(team, run, after);
  return {
    sets: [...now].flatMap(([text, row]) => isSameRow(old.get(text), row) ? [] : [row]),
    deletes: [...old].flatMap(([text, { key }]) => now.has(text) ? [] : [key]),
  };
}

function isSameRow(before: IndexRow | undefined, { value }: IndexRow): boolean {
  return before !== undefined && isSameValue(before.value, value);
}
