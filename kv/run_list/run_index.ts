/**
 * The index of runs: by agent, customer, feature, model, parent, status, kind, magnitude of their cost and what
 * is special of them, each in the order of their starts. Runs without an opening have no start: they are
 * found as orphans alone, by the arrival of their first part.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { TeamId } from "../../domain/teams/credentials.ts";
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { RunId } from "../../domain/core/ids.ts";
import type { ModelName } from "../../domain/spend/rollup.ts";
import { keyText } from "../writer/group.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import { indexValue, isSameValue } from "./index_value.ts";
import { keyPart } from "../spend/rollups.ts";

/** Characters of a model's name in a key, and of them those that stand there as they are if it is longer. */
const MODEL_CHARS = { max: 200, kept: 150 } as const;

/** The labels of a run whose summary does not say. */
const NO_LABELS = { agent: null, customer: null, feature: null, status: "running" } as const;

/** Digits of costs that are told apart: from a tenth of a cent to thousands of dollars. */
const COST_DIGITS = { min: 10, max: 16 } as const;

/** All magnitudes of costs, from the least to the greatest. */
const COST_PARTS = Array.from(
  { length: COST_DIGITS.max - COST_DIGITS.min + 1 },
  (_, i) => [1, 2, 5].map((first) => partOf(COST_DIGITS.min + i, first)),
).flat();

/** A row of the index. */
export interface IndexRow {
  /** Where it is. */
  readonly key: Deno.KvKey;
  /** What it tells of the run. */
  readonly value: Uint8Array;
}

/** The rows under which a run is found, by the text of their keys. */
export function indexRows(
  team: TeamId,
  run: RunId,
  summary: RunSummary | null,
): ReadonlyMap<string, IndexRow> {
  const rows = new Map<string, IndexRow>();
  if (summary === null) return rows;
  const { contribution, listed, shown } = summary;
  if (listed === undefined) return rows;
  const { at } = listed;
  const known = contribution?.labels ?? shown?.sums?.labels ?? NO_LABELS;
  const all = indexValue(listed.kind, known);
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

/** What changes in the index when a run's summary does. */
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

function isSameRow(known: IndexRow | undefined, { value }: IndexRow): boolean {
  return known !== undefined && isSameValue(known.value, value);
}

/** An agent as the part of a key. */
export function agentPart(slug: string): string {
  return keyPart({ kind: "agent", value: slug });
}

/** A customer as the part of a key. */
export function customerPart(customer: string): string {
  return keyPart({ kind: "customer", value: customer });
}

/** A feature as the part of a key. */
export function featurePart(feature: string): string {
  return keyPart({ kind: "feature", value: feature });
}

/** The magnitude of a cost that is not 0, as the part of a key: 1, 2 or 5 and so many digits. */
export function costPart(cost: Picodollars): string {
  const { min, max } = COST_DIGITS;
  const text = `${cost}`;
  if (text.length < min) return partOf(min, 1);
  if (text.length > max) return partOf(max, 5);
  const first = Number(text[0]);
  return partOf(text.length, first < 2 ? 1 : first < 5 ? 2 : 5);
}

/** All magnitudes of costs that may be as much as this one or more. */
export function costPartsFrom(cost: Picodollars): string[] {
  const least = costPart(cost);
  return COST_PARTS.filter((part) => part >= least);
}

function partOf(digits: number, first: number): string {
  return `${digits}`.padStart(2, "0") + first;
}

/** A model as the part of a key: its name first, so that it is found whoever provided it. */
export function modelPart({ provider, model }: ModelName): string {
  const name = JSON.stringify([model, provider]);
  if (name.length <= MODEL_CHARS.max) return name;
  const hash = createHash("sha256").update(name).digest("base64url");
  return `${beginning(name)}#${hash}`;
}

/** What the parts of all providers' models of a name begin with, and perhaps some others' too. */
export function modelPrefix(model: string): string {
  return beginning(JSON.stringify([model]).slice(0, -1));
}

/** What is kept of a long name; half a character would be none. */
function beginning(text: string): string {
  const cut = text.slice(0, MODEL_CHARS.kept);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
