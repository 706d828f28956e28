/**
 * Verifies a team: compares the totals of its runs with its roll-ups and counters.
 *
 * @module
 */
import {
  addActivities,
  addAgentRun,
  type AgentActivity,
  agentRunOf,
} from "../../domain/agents/activity.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { addCounts } from "../../domain/core/sums.ts";
import { contributionsOf, type RollupRow } from "../../domain/spend/rollup.ts";
import { keyParts, keys } from "../base/keys.ts";
import { indexEntries } from "../run_list/run_index.ts";
import { decodeRollup, rollupKey } from "../spend/rollups.ts";
import { countOf, eachRow, getMany, type Store } from "../store.ts";
import { CheckSums } from "./checks.ts";
import { type Due, hasIdleDeadline, hasWork, verifyMonitors, verifyWork } from "./due.ts";
import { eachOrderRow, type Order } from "../index/entries.ts";
import { Findings, NONE, type TeamCheck } from "./findings.ts";
import { verifyDeliveries, verifyIncidents } from "./incidents.ts";
import type { VerifiedRun } from "./run.ts";

/** Totals of a team's runs. It holds a row for each roll-up and agent, and the ids of runs with work. */
export class TeamSums implements TeamCheck {
  runs = 0;
  events = 0;
  /** True if its runs changed meanwhile, so that the totals cannot be compared. */
  isBusy = false;
  readonly findings: Findings = new Findings();
  readonly #checks: CheckSums;
  /** Roll-ups by the parts of their key after the team. */
  readonly #rollups = new Map<string, RollupRow>();
  readonly #agents = new Map<string, AgentActivity>();
  readonly #usage = new Map<string, number>();
  readonly #indexed = new Map<string, number>();
  #inFeed = 0;
  /** Open runs that will be idle. */
  #deadlines = 0;
  /** Runs that have work. */
  readonly #waiting: RunId[] = [];

  constructor(readonly store: Store, readonly team: TeamId) {
    this.#checks = new CheckSums(this);
  }

  /** Adds a run. */
  add(id: RunId, { run, summary, usage, events, findings }: VerifiedRun): void {
    this.runs++;
    this.events += events;
    this.findings.add(findings);
    for (const [month, by] of usage) count(this.#usage, month, by);
    if (run === null) return;
    this.#checks.add(id, summary, run.checks);
    if (run.summary?.changes !== undefined) this.#inFeed++;
    if (hasIdleDeadline(run)) this.#deadlines++;
    if (hasWork(run)) this.#waiting.push(id);
    for (const { order } of indexEntries(this.team, id, summary)) {
      count(this.#indexed, keyParts.name(order));
    }
    const counted = agentRunOf(id, summary);
    if (counted !== null) {
      const { agent } = counted;
      this.#agents.set(agent, addAgentRun(this.#agents.get(agent) ?? null, null, counted));
    }
    if (summary?.contribution) contributionsOf(summary.contribution).forEach(this.#addRollup, this);
  }

  /** Compares the totals with the stored rows of the team. Call it once, after the last run. */
  async compare(due: Due): Promise<void> {
    const { team, findings } = this;
    const deadlines = due.deadlines.get(team) ?? 0;
    if (deadlines < this.#deadlines) {
      findings.note("deadlines of open runs", `at least ${this.#deadlines}`, `${deadlines}`);
    }
    await this.#addRemoved();
    await this.#compareRows("roll-up", keys.teamRollups(team), this.#rollups, {
      fieldsOf: ({ measures, group }) => ({ ...measures, group }),
      decode: ({ key, value }) => decodeRollup(keyParts.day(key), value as Uint8Array),
    });
    await this.#compareUsage();
    await this.#compareAgents(due);
    await this.#compareEntries();
    await verifyWork(this, this.#waiting, due);
    await this.#checks.compare();
    await verifyIncidents(this);
    await verifyDeliveries(this);
  }

  /** Adds the totals of removed runs. */
  async #addRemoved(): Promise<void> {
    const { store, team } = this;
    for await (const { key, value } of eachRow(store, { prefix: keys.removedRollups(team) })) {
      this.#addRollup(decodeRollup(keyParts.day(key), value as Uint8Array));
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

  #addRollup(row: RollupRow): void {
    const name = labelOf(rollupKey(this.team, row));
    const previous = this.#rollups.get(name)?.measures;
    const measures = previous === undefined ? row.measures : addCounts(previous, row.measures);
    this.#rollups.set(name, { ...row, measures });
  }

  /** Compares stored rows with the expected ones, which are removed from their map. */
  async #compareRows<Row>(
    kind: string,
    prefix: Deno.KvKey,
    expected: Map<string, Row>,
    { fieldsOf, decode }: {
      readonly fieldsOf: (row: Row) => Readonly<Record<string, unknown>>;
      readonly decode: (entry: Deno.KvEntry<unknown>) => Row;
    },
  ): Promise<void> {
    for await (const entry of eachRow(this.store, { prefix })) {
      const what = `${kind} ${labelOf(entry.key)}`;
      const row = expected.get(labelOf(entry.key));
      expected.delete(labelOf(entry.key));
      if (row === undefined) {
        this.findings.presence(what, false, true);
        continue;
      }
      try {
        this.findings.compare(what, fieldsOf(row), fieldsOf(decode(entry)));
      } catch (error) {
        this.findings.note(what, "readable", String(error));
      }
    }
    for (const [name, row] of expected) {
      this.findings.note(`${kind} ${name}`, `runs ${fieldsOf(row).runs}`, NONE);
    }
  }

  async #compareUsage(): Promise<void> {
    const stored = new Map<string, unknown>();
    for await (const { key, value } of eachRow(this.store, { prefix: keys.teamUsage(this.team) })) {
      stored.set(keyParts.name(key), value instanceof Deno.KvU64 ? Number(value.value) : value);
    }
    for (const month of new Set([...this.#usage.keys(), ...stored.keys()])) {
      const [expected, found] = [this.#usage, stored].map((calls) => calls.get(month) ?? 0);
      this.findings.compare(`usage of ${month}`, { calls: expected }, { calls: found });
    }
  }

  /**
   * Compares the number of entries in the index and in the feed: those of runs are verified, so others
   * are stray. Deletions in the feed do not count, and entries of expiry stay until they are due.
   */
  async #compareEntries(): Promise<void> {
    const { team, findings } = this;
    const indexed = new Map<string, number>();
    for await (const { key, values } of this.#orderRows(keys.teamRunsBy(team))) {
      count(indexed, keyParts.name(key), values.length);
    }
    const [expected, found] = [this.#indexed, indexed].map((rows) => Object.fromEntries(rows));
    findings.compare("entries of the index", expected!, found!);
    let runs = 0;
    for await (const { values } of this.#orderRows(keys.changes(team))) {
      runs += values.filter((value) => value === true).length;
    }
    findings.compare("entries of the feed", { runs: this.#inFeed }, { runs });
    for await (const _ of this.#orderRows(keys.expiryOrders(team)));
  }

  /** Yields the rows of all orders below a prefix, and notes the blocks that no commit writes. */
  async *#orderRows(prefix: Order) {
    for await (const row of eachOrderRow(this.store, prefix)) {
      const { key, values, isDamaged } = row;
      if (isDamaged) {
        const what = `block ${[key[0], ...key.slice(2)].join(" ")}`;
        this.findings.note(what, "entries", values.length === 0 ? NONE : "other bytes");
      }
      yield row;
    }
  }

  async #compareAgents(due: Due): Promise<void> {
    const { store, team, findings } = this;
    const slugs = await slugsBelow(store, keys.teamAgents(team));
    const archived = await slugsBelow(store, keys.archivedAgents(team));
    const counts = [keys.agentCount(team), keys.archivedAgents(team)];
    const [active, archive] = await getMany(store, counts);
    const found = { agents: countOf(active!), archived: archive!.value ?? 0 };
    const expected = { agents: slugs.size, archived: archived.size };
    findings.compare("count of agents", expected, found);
    for (const slug of slugs.intersection(archived)) {
      findings.note(`agent ${slug}`, "in use or archived", "both");
    }
    const all = slugs.union(archived);
    for (const slug of this.#agents.keys()) {
      findings.presence(`agent ${slug}`, true, all.has(slug));
    }
    await verifyMonitors(this, all, due);
    const activities = keys.agentActivities(team);
    await this.#compareRows("activity of agent", activities, this.#agents, {
      fieldsOf: (activity) => ({ ...activity }),
      decode: ({ value }) => value as AgentActivity,
    });
  }
}

/** Returns the parts of a key after the team, as findings name a row. */
function labelOf(key: Deno.KvKey): string {
  return key.slice(2).join(" ");
}

function count(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

async function slugsBelow(store: Store, prefix: Deno.KvKey): Promise<Set<string>> {
  return new Set(
    await Array.fromAsync(eachRow(store, { prefix }), ({ key }) => keyParts.name(key)),
  );
}
