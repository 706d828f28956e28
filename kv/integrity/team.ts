/**
 * Verifies a team: compares the totals of its runs with its roll-ups and counters.
 *
 * @module
 */
import { addCounts } from "../../domain/core/sums.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  addActivities,
  addAgentRun,
  type AgentActivity,
  agentRunOf,
} from "../../domain/agents/activity.ts";
import { contributionsOf, type RollupRow } from "../../domain/spend/rollup.ts";
import { RETENTION_CLASSES } from "../../domain/retention/retention.ts";
import type { VerifiedRun } from "./run.ts";
import { verifyWork } from "./work.ts";
import { blockRows, entryRows } from "./entries.ts";
import { CheckSums } from "./checks.ts";
import { verifyIncidents } from "./alerts.ts";
import { verifyDeliveries } from "./deliveries.ts";
import { verifyMonitors } from "./monitors.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";
import { keyText } from "../writer/group.ts";
import { keyParts, keys } from "../base/keys.ts";
import { indexEntries } from "../run_list/run_index.ts";
import { decodeRollup, rollupKey } from "../spend/rollups.ts";
import { countOf, eachRow, getMany, type Store } from "../store.ts";

/** Maximum mismatches listed for a team; all are counted. */
export const MISMATCHES_MAX = 100;

/** Totals of a team's runs. It holds a row for each roll-up and agent, and the ids of runs with work. */
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
  readonly #checks: CheckSums;
  #inFeed = 0;
  /** Open runs that will be idle. */
  #deadlines = 0;
  /** Runs that have work. */
  readonly #waiting: RunId[] = [];

  constructor(team: TeamId) {
    this.#team = team;
    this.#checks = new CheckSums(team);
  }

  /** Adds a run. */
  add(id: RunId, run: VerifiedRun): void {
    const { summary, checks, usage, isInFeed, hasDeadline, events, mismatches } = run;
    this.runs++;
    this.events += events;
    this.note(mismatches);
    this.#checks.add(id, summary, checks);
    for (const [month, by] of usage) count(this.#usage, month, by);
    if (isInFeed) this.#inFeed++;
    if (hasDeadline) this.#deadlines++;
    if (run.hasWork) this.#waiting.push(id);
    for (const { order } of indexEntries(this.#team, id, summary)) {
      count(this.#indexed, keyParts.name(order));
    }
    const counted = agentRunOf(id, summary);
    if (counted !== null) {
      const { agent } = counted;
      this.#agents.set(agent, addAgentRun(this.#agents.get(agent) ?? null, null, counted));
    }
    for (const row of summary?.contribution ? contributionsOf(summary.contribution) : []) {
      this.#addRow(row);
    }
  }

  /**
   * Compares the totals with the stored rows of the team. Call it once, after the last run.
   *
   * @param deadlines number of its runs in the due index; rows of closed runs may remain there
   * @param due names of runs whose work is due
   */
  async compare(store: Store, deadlines: number, due: ReadonlySet<string>): Promise<void> {
    if (deadlines < this.#deadlines) {
      const expected = `at least ${this.#deadlines}`;
      this.note([{ what: "deadlines of open runs", expected, found: `${deadlines}` }]);
    }
    await this.#addRemoved(store);
    await this.#compareRollups(store);
    await this.#compareUsage(store);
    await this.#compareAgents(store);
    await this.#compareIndex(store);
    await this.#compareFeed(store);
    await this.#checkExpiryBlocks(store);
    this.note(await verifyWork(store, this.#team, this.#waiting, due));
    this.note(await this.#checks.compare(store));
    this.note(await verifyIncidents(store, this.#team));
    this.note(await verifyDeliveries(store, this.#team));
  }

  /** Adds the totals of removed runs. */
  async #addRemoved(store: Store): Promise<void> {
    const team = this.#team;
    for await (const { key, value } of eachRow(store, { prefix: keys.removedRollups(team) })) {
      this.#addRow(decodeRollup(keyParts.day(key), value as Uint8Array));
    }
    for await (const { key, value } of eachRow(store, { prefix: keys.removedUsages(team) })) {
      count(this.#usage, keyParts.name(key), Number((value as Deno.KvU64).value));
    }
    for await (const { key, value } of eachRow(store, { prefix: keys.removedAgents(team) })) {
      const [slug, removed] = [keyParts.name(key), value as AgentActivity];
      const previous = this.#agents.get(slug);
      this.#agents.set(slug, previous === undefined ? removed : addActivities(removed, previous));
    }
  }

  #addRow(row: RollupRow): void {
    const name = keyText(rollupKey(this.#team, row));
    const previous = this.#rows.get(name)?.measures;
    const measures = previous === undefined ? row.measures : addCounts(previous, row.measures);
    this.#rows.set(name, { ...row, measures });
  }

  async #compareRollups(store: Store): Promise<void> {
    for await (const { key, value } of eachRow(store, { prefix: keys.teamRollups(this.#team) })) {
      const what = `roll-up ${key.slice(2).join(" ")}`;
      this.#compareRow(what, this.#rows, keyText(key), ({ measures, group }) => {
        const stored = decodeRollup(keyParts.day(key), value as Uint8Array);
        return mismatch(what, { ...measures, group }, { ...stored.measures, group: stored.group });
      });
    }
    for (const row of this.#rows.values()) {
      const what = `roll-up ${rollupKey(this.#team, row).slice(2).join(" ")}`;
      this.note([{ what, expected: `runs ${row.measures.runs}`, found: NONE }]);
    }
  }

  /** Compares a stored row with the expected row, and removes the expected row from `rows`. */
  #compareRow<Row>(
    what: string,
    rows: Map<string, Row>,
    name: string,
    compare: (expected: Row) => Mismatch[],
  ): void {
    const expected = rows.get(name);
    rows.delete(name);
    if (expected === undefined) return this.note([{ what, expected: NONE, found: "stored" }]);
    try {
      this.note(compare(expected));
    } catch (error) {
      this.note([{ what, expected: "readable", found: String(error) }]);
    }
  }

  async #compareUsage(store: Store): Promise<void> {
    const stored: Record<string, unknown> = {};
    for await (const { key, value } of eachRow(store, { prefix: keys.teamUsage(this.#team) })) {
      stored[keyParts.name(key)] = value instanceof Deno.KvU64 ? Number(value.value) : value;
    }
    for (const month of new Set([...this.#usage.keys(), ...Object.keys(stored)])) {
      const expected = this.#usage.get(month) ?? 0;
      const what = `usage of ${month}`;
      this.note(mismatch(what, { calls: expected }, { calls: stored[month] ?? 0 }));
    }
  }

  /** Compares the number of index entries: those of runs are verified, so others are stray. */
  async #compareIndex(store: Store): Promise<void> {
    const stored = new Map<string, number>();
    for await (const row of entryRows(store, keys.teamRunsBy(this.#team))) {
      this.note(row.mismatches);
      count(stored, keyParts.name(row.key), row.values.length);
    }
    const [expected, found] = [this.#indexed, stored].map((rows) => Object.fromEntries(rows));
    this.note(mismatch("entries of the index", expected ?? {}, found ?? {}));
  }

  /** Compares the number of feed entries, without those of deletions. */
  async #compareFeed(store: Store): Promise<void> {
    let found = 0;
    for await (const row of entryRows(store, keys.changes(this.#team))) {
      this.note(row.mismatches);
      found += row.values.filter((value) => value === true).length;
    }
    this.note(mismatch("entries of the feed", { runs: this.#inFeed }, { runs: found }));
  }

  /** Checks the blocks of expiry orders. Outdated entries stay until they are due. */
  async #checkExpiryBlocks(store: Store): Promise<void> {
    for (const retentionClass of RETENTION_CLASSES) {
      const order = keys.expiryOrder(this.#team, retentionClass);
      for await (const { mismatches } of blockRows(store, order)) this.note(mismatches);
    }
  }

  async #compareAgents(store: Store): Promise<void> {
    const slugs = await slugsBelow(store, keys.teamAgents(this.#team));
    const archived = await slugsBelow(store, keys.archivedAgents(this.#team));
    const [count, archive] = await getMany(store, [
      keys.agentCount(this.#team),
      keys.archivedAgents(this.#team),
    ]);
    const found = {
      agents: count === undefined ? 0 : countOf(count),
      archived: archive?.value ?? 0,
    };
    const expected = { agents: slugs.size, archived: archived.size };
    this.note(mismatch("count of agents", expected, found));
    for (const slug of slugs.intersection(archived)) {
      this.note([{ what: `agent ${slug}`, expected: "in use or archived", found: "both" }]);
    }
    for (const slug of this.#agents.keys()) {
      if (slugs.has(slug) || archived.has(slug)) continue;
      this.note([{ what: `agent ${slug}`, expected: "stored", found: NONE }]);
    }
    this.note(await verifyMonitors(store, this.#team, slugs.union(archived)));
    const activities = { prefix: keys.agentActivities(this.#team) };
    for await (const { key, value } of eachRow<AgentActivity>(store, activities)) {
      const slug = keyParts.name(key);
      const what = `activity of agent ${slug}`;
      this.#compareRow(
        what,
        this.#agents,
        slug,
        (activity) => mismatch(what, { ...activity }, { ...value }),
      );
    }
    for (const [slug, { runs }] of this.#agents) {
      const what = `activity of agent ${slug}`;
      this.note([{ what, expected: `runs ${runs}`, found: NONE }]);
    }
  }

  /** Adds mismatches. */
  note(mismatches: readonly Mismatch[]): void {
    this.count += mismatches.length;
    const remaining = MISMATCHES_MAX - this.mismatches.length;
    this.mismatches.push(...mismatches.slice(0, remaining));
  }
}

function count(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

async function slugsBelow(store: Store, prefix: Deno.KvKey): Promise<Set<string>> {
  return new Set(
    await Array.fromAsync(eachRow(store, { prefix }), ({ key }) => keyParts.name(key)),
  );
}
