/**
 * Verifies a team: compares the totals of its runs with its roll-ups and counters.
 *
 * @module
 */
import { addCounts } from "../../domain/core/sums.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { addAgentRun, type AgentActivity, joinActivities } from "../../domain/agents/activity.ts";
import { contributionsOf, type RollupRow } from "../../domain/spend/rollup.ts";
import type { VerifiedRun } from "./run.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";
import { keyText } from "../writer/group.ts";
import { keys } from "../base/keys.ts";
import { decodeRollup, rollupKey } from "../spend/rollups.ts";
import { eachRow, getMany, type Store } from "../store.ts";

/** Maximum mismatches listed for a team; all are counted. */
export const MISMATCHES_MAX = 100;

/**
 * Offsets in keys: of the day in a roll-up, the month in usage, the slug in an agent, and the kind
 * in the index.
 */
const DAY = 3, MONTH = 2, SLUG = 2, INDEX = 2;

/** Totals of a team's runs. It holds a row for each roll-up and each agent, and no run. */
export class TeamSums {
  runs = 0;
  events = 0;
  /** Number of mismatches. */
  count = 0;
  /** The first mismatches. */
  readonly mismatches: Mismatch[] = [];
  readonly #rows = new Map<string, RollupRow>();
  readonly #usage = new Map<string, number>();
  readonly #agents = new Map<string, AgentActivity>();
  readonly #indexed = new Map<string, number>();
  readonly #team: TeamId;
  #inFeed = 0;

  constructor(team: TeamId) {
    this.#team = team;
  }

  /** Adds a run. */
  add(run: VerifiedRun): void {
    this.runs++;
    this.events += run.events;
    this.#note(run.mismatches);
    for (const [month, by] of run.usage) this.#addUsage(month, by);
    if (run.isInFeed) this.#inFeed++;
    for (const { key } of run.indexed) count(this.#indexed, String(key[INDEX]));
    if (run.agentRun !== null) {
      const { agent } = run.agentRun;
      this.#agents.set(agent, addAgentRun(this.#agents.get(agent) ?? null, null, run.agentRun));
    }
    for (const row of run.contribution === null ? [] : contributionsOf(run.contribution)) {
      this.#addRow(row);
    }
  }

  /** Compares the totals with the stored rows of the team. Call it once, after the last run. */
  async compare(store: Store): Promise<void> {
    await this.#addRemoved(store);
    await this.#compareRollups(store);
    await this.#compareUsage(store);
    await this.#compareAgents(store);
    await this.#compareIndex(store);
    await this.#compareFeed(store);
  }

  /** Adds the totals of removed runs. */
  async #addRemoved(store: Store): Promise<void> {
    const team = this.#team;
    for await (const { key, value } of eachRow(store, { prefix: keys.removedRollups(team) })) {
      this.#addRow(decodeRollup(String(key[DAY]), value as Uint8Array));
    }
    for await (const { key, value } of eachRow(store, { prefix: keys.removedUsages(team) })) {
      this.#addUsage(String(key[MONTH]), Number((value as Deno.KvU64).value));
    }
    for await (const { key, value } of eachRow(store, { prefix: keys.removedAgents(team) })) {
      const [slug, removed] = [String(key[SLUG]), value as AgentActivity];
      const previous = this.#agents.get(slug);
      this.#agents.set(slug, previous === undefined ? removed : joinActivities(removed, previous));
    }
  }

  #addRow(row: RollupRow): void {
    const name = keyText(rollupKey(this.#team, row));
    const previous = this.#rows.get(name)?.measures;
    const measures = previous === undefined ? row.measures : addCounts(previous, row.measures);
    this.#rows.set(name, { ...row, measures });
  }

  #addUsage(month: string, by: number): void {
    this.#usage.set(month, (this.#usage.get(month) ?? 0) + by);
  }

  async #compareRollups(store: Store): Promise<void> {
    for await (const { key, value } of eachRow(store, { prefix: keys.teamRollups(this.#team) })) {
      const name = keyText(key);
      const expected = this.#rows.get(name);
      this.#rows.delete(name);
      const what = `roll-up ${key.slice(2).join(" ")}`;
      if (expected === undefined) this.#note([{ what, expected: NONE, found: "stored" }]);
      else this.#note(compareRow(what, expected, key, value));
    }
    for (const row of this.#rows.values()) {
      const what = `roll-up ${rollupKey(this.#team, row).slice(2).join(" ")}`;
      this.#note([{ what, expected: `runs ${row.measures.runs}`, found: NONE }]);
    }
  }

  async #compareUsage(store: Store): Promise<void> {
    const stored: Record<string, unknown> = {};
    for await (const { key, value } of eachRow(store, { prefix: keys.teamUsage(this.#team) })) {
      stored[String(key[MONTH])] = value instanceof Deno.KvU64 ? Number(value.value) : value;
    }
    for (const month of new Set([...this.#usage.keys(), ...Object.keys(stored)])) {
      const expected = this.#usage.get(month) ?? 0;
      const what = `usage of ${month}`;
      this.#note(mismatch(what, { calls: expected }, { calls: stored[month] ?? 0 }));
    }
  }

  /**
   * Compares the number of index rows: each run's rows are verified, so an excess is a stray row.
   */
  async #compareIndex(store: Store): Promise<void> {
    const stored = new Map<string, number>();
    for await (const { key } of eachRow(store, { prefix: keys.teamRunsBy(this.#team) })) {
      count(stored, String(key[INDEX]));
    }
    const [expected, found] = [this.#indexed, stored].map((rows) => Object.fromEntries(rows));
    this.#note(mismatch("rows of the index", expected ?? {}, found ?? {}));
  }

  /** Compares the number of feed rows, without those of deletions. */
  async #compareFeed(store: Store): Promise<void> {
    let found = 0;
    for await (const { value } of eachRow(store, { prefix: keys.changes(this.#team) })) {
      if (value === true) found++;
    }
    this.#note(mismatch("rows of the feed", { runs: this.#inFeed }, { runs: found }));
  }

  async #compareAgents(store: Store): Promise<void> {
    const slugs = new Set<string>();
    for await (const { key } of eachRow(store, { prefix: keys.teamAgents(this.#team) })) {
      slugs.add(String(key[SLUG]));
    }
    const archived = new Set<string>();
    for await (const { key } of eachRow(store, { prefix: keys.archivedAgents(this.#team) })) {
      archived.add(String(key[SLUG]));
    }
    const [count, archive] = await getMany(store, [
      keys.agentCount(this.#team),
      keys.archivedAgents(this.#team),
    ]);
    const found = { agents: count?.value ?? 0, archived: archive?.value ?? 0 };
    const expected = { agents: slugs.size, archived: archived.size };
    this.#note(mismatch("count of agents", expected, found));
    for (const slug of slugs.intersection(archived)) {
      this.#note([{ what: `agent ${slug}`, expected: "in use or archived", found: "both" }]);
    }
    for (const slug of this.#agents.keys()) {
      if (slugs.has(slug) || archived.has(slug)) continue;
      this.#note([{ what: `agent ${slug}`, expected: "stored", found: NONE }]);
    }
    await this.#compareActivities(store);
  }

  async #compareActivities(store: Store): Promise<void> {
    for await (
      const { key, value } of eachRow(store, { prefix: keys.agentActivities(this.#team) })
    ) {
      const slug = String(key[SLUG]);
      const expected = this.#agents.get(slug);
      this.#agents.delete(slug);
      const what = `activity of agent ${slug}`;
      if (expected === undefined) this.#note([{ what, expected: NONE, found: "stored" }]);
      else this.#note(mismatch(what, { ...expected }, { ...value as AgentActivity }));
    }
    for (const [slug, { runs }] of this.#agents) {
      const what = `activity of agent ${slug}`;
      this.#note([{ what, expected: `runs ${runs}`, found: NONE }]);
    }
  }

  #note(mismatches: readonly Mismatch[]): void {
    this.count += mismatches.length;
    const remaining = MISMATCHES_MAX - this.mismatches.length;
    this.mismatches.push(...mismatches.slice(0, remaining));
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function compareRow(
  what: string,
  expected: RollupRow,
  key: Deno.KvKey,
  value: unknown,
): Mismatch[] {
  try {
    const { group, measures } = decodeRollup(String(key[DAY]), value as Uint8Array);
    return mismatch(what, { ...expected.measures, group: expected.group }, { ...measures, group });
  } catch (error) {
    return [{ what, expected: "readable", found: String(error) }];
  }
}
