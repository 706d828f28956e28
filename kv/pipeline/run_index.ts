/**
 * The index of runs: by agent, customer and model, each in the order of their starts.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import type { RunSummary } from "../../domain/pipeline/summary.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { keyText } from "../writer/group.ts";
import { keys, type RunIndexKind } from "../keys.ts";
import { keyPart } from "./rollups.ts";

/** The rows under which a run is found, by the text of their keys; none before its opening. */
export function indexRows(
  team: TeamId,
  run: RunId,
  summary: RunSummary | null,
): ReadonlyMap<string, Deno.KvKey> {
  const rows = new Map<string, Deno.KvKey>();
  if (!summary?.contribution || summary.times === null) return rows;
  const { startedAt } = summary.times;
  const { labels, models } = summary.contribution;
  const add = (kind: RunIndexKind, name: string) => {
    const key = keys.runBy(team, kind, name, startedAt, run);
    rows.set(keyText(key), key);
  };
  if (labels.agent !== null) add("agent", agentPart(labels.agent));
  if (labels.customer !== null) add("customer", customerPart(labels.customer));
  for (const { provider, model } of models) {
    add("model", keyPart({ kind: "model", value: { provider, model } }));
  }
  return rows;
}

/** What changes in the index when a run's summary does. */
export function indexChange(
  team: TeamId,
  run: RunId,
  before: RunSummary | null,
  after: RunSummary | null,
): { readonly sets: { key: Deno.KvKey; value: true }[]; readonly deletes: Deno.KvKey[] } {
  const old = indexRows(team, run, before);
  const now = indexRows(team, run, after);
  return {
    sets: [...now].flatMap(([text, key]) => old.has(text) ? [] : [{ key, value: true }]),
    deletes: [...old].flatMap(([text, key]) => now.has(text) ? [] : [key]),
  };
}

/** An agent as the part of a key. */
export function agentPart(slug: string): string {
  return keyPart({ kind: "agent", value: slug });
}

/** A customer as the part of a key. */
export function customerPart(customer: string): string {
  return keyPart({ kind: "customer", value: customer });
}
