/** Plays outcomes of runs through the decision about alerts, with rows in maps instead of a store. */
import { assertEquals } from "@std/assert";
import { type AlertRows, decideAlerts, type GroupDue } from "../../../domain/alerts/decide.ts";
import type { Incident } from "../../../domain/alerts/incident.ts";
import { type AlertInstance, hasPlace } from "../../../domain/alerts/instance.ts";
import { type AlertSignal, groupName, matches } from "../../../domain/alerts/signal.ts";
import type { Rule, RuleSettings, TeamCounts } from "../../../domain/alerts/rule.ts";
import type { AlertWork } from "../../../domain/alerts/signal_sources.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { Random } from "../../../tools/random.ts";
import { THREE_FAILURES } from "../../support/builders/alert_rules.ts";
import type { GroupOutcome } from "./alert_outcomes.ts";
import { type Act, firingOf } from "./alerts.ts";

/** First arrival, and milliseconds from one to the next. */
const START_MS = Date.UTC(2026, 10, 21, 12), STEP_MS = 1_000;

/** Outcomes that the service reads of a group at most. */
const EARLIER_MAX = 32;

const AGENTS = ["ant", "bee"] as const;

interface AgentOutcome extends GroupOutcome {
  readonly agent: string;
}

/** A user's action on the incident of an agent. */
type AgentAct = Act & Pick<AgentOutcome, "agent">;

/** The alerts of a team with one rule. */
export class AlertWorld {
  nowMs = START_MS;
  counts: TeamCounts = {};
  readonly instances = new Map<string, AlertInstance>();
  readonly incidents = new Map<string, Incident>();
  readonly due = new Map<string, GroupDue>();
  /** Signals of the runs that are stored, by group and run. */
  readonly #stored = new Map<string, Map<string, AlertSignal>>();
  readonly #rule: Rule;
  #ids = 0;

  constructor(settings: RuleSettings) {
    const made = { createdAt: 0, updatedAt: 0, updatedBy: null };
    this.#rule = { slug: "failures", id: null, version: 1, settings, ...made };
  }

  /** Commits some work, as a store would: rows are read when the decision lacks them. */
  commit(work: AlertWork): void {
    const rows = {
      config: {
        rules: [this.#rule],
        byKind: new Map([[this.#rule.settings.condition.kind, [this.#rule]]]),
        channels: [],
        silences: [],
      },
      counts: this.counts,
      instances: new Map<string, AlertInstance | null>(),
      incidents: new Map<string, Incident | null>(),
      earlier: new Map<string, readonly AlertSignal[]>(),
      unpriced: new Map<string, boolean>(),
      errors: new Map<RunId, string | null>(),
    } satisfies AlertRows;
    const ids = this.#ids;
    for (;;) {
      this.#ids = ids;
      const newId = (prefix: string) => `${prefix}_${++this.#ids}`;
      const { change, lacking } = decideAlerts(rows, work, { nowMs: this.nowMs, newId });
      if (change === null) {
        for (const name of lacking.instances.keys()) {
          rows.instances.set(name, this.instances.get(name) ?? null);
        }
        for (const id of lacking.incidents) rows.incidents.set(id, this.incidents.get(id) ?? null);
        for (const [name] of lacking.earlier) {
          const changing = new Set(work.signals.map(({ key }) => key));
          const all = [...this.#stored.get(name)?.values() ?? []]
            .filter(({ key, outcome }) => outcome !== "none" && !changing.has(key))
            .sort((a, b) => a.at - b.at);
          rows.earlier.set(name, all.slice(-EARLIER_MAX));
        }
        for (const run of lacking.errors) rows.errors.set(run, `error of ${run}`);
        continue;
      }
      for (const [name, { after }] of change.instances) {
        if (after === null) this.instances.delete(name);
        else this.instances.set(name, after);
      }
      for (const [id, { incident }] of change.incidents) this.incidents.set(id, incident);
      for (const row of change.due) {
        const name = `${row.at} ${groupName(row.rule, row.group)}`;
        if (row.isFiled) this.due.set(name, row);
        else this.due.delete(name);
      }
      this.counts = change.counts;
      break;
    }
    for (const signal of work.signals) {
      if (!matches(this.#rule.settings, signal.subject)) continue;
      const name = groupName(this.#rule.slug, `=${signal.subject.agent}`);
      const stored = this.#stored.get(name) ?? new Map<string, AlertSignal>();
      this.#stored.set(name, stored.set(signal.key, signal));
    }
    this.#check();
  }

  recheckDue(): void {
    const due = [...this.due.values()].filter(({ at }) => at <= this.nowMs);
    if (due.length > 0) this.commit({ signals: [], dueGroups: due });
  }

  resolve(agent: string): AgentAct[] {
    const known = [...this.incidents.values()].find(({ state, group }) =>
      state !== "resolved" && group.agent === agent
    );
    if (known === undefined) return [];
    const made = { by: "key_1", at: this.nowMs };
    this.commit({ signals: [], byHand: { id: known.id, what: "resolved", note: null, made } });
    return [{ agent, at: this.nowMs, what: "resolve" }];
  }

  /** Returns the incidents that are open, by agent: their state, runs and count. */
  open(): Record<string, unknown> {
    const open = [...this.incidents.values()].filter(({ state }) => state !== "resolved");
    return Object.fromEntries(
      open.map(({ group: { agent = "" }, state, count, runs, error }) => {
        // The error is that of the newest run, or none if another outcome made it the newest.
        if (error !== null) assertEquals(error, `error of ${runs[0]}`);
        return [agent, { state, count, runs }];
      }),
    );
  }

  /** The numbers are those of the rows, and each group that fires has its incident and a row. */
  #check(): void {
    const all = [...this.instances.values()];
    const firing = all.filter(hasPlace);
    const { instances = 0, firing: counted = 0 } = this.counts[this.#rule.slug] ?? {};
    assertEquals([instances, counted], [all.length, firing.length]);
    for (const { rule, text, dueAt } of all) {
      if (dueAt !== null) assertEquals(this.due.has(`${dueAt} ${groupName(rule, text)}`), true);
    }
    const open = [...this.incidents.values()].filter(({ state }) => state !== "resolved");
    const named = all.flatMap(({ incident }) => incident ?? []);
    assertEquals(named.sort(), open.map(({ id }) => id).sort());
  }
}

/** @param former outcome that this one replaces; null for none */
function signalOf(
  { key, at, what, run, agent }: AgentOutcome,
  former: AgentOutcome | null = null,
): AlertSignal {
  const subject = { agent, customer: null, feature: null, model: null };
  return {
    ...{ kind: "run_failed", rule: null, subject, key, at, run: run as RunId, value: null },
    ...{ outcome: what, detail: what === "bad" ? "failed" : "success", error: null },
    ...former?.what === "good" ? { undoneAt: former.at } : {},
  };
}

/** Returns the signal of a run that is open again after an outcome. */
function noneOf(former: AgentOutcome): AlertSignal {
  return { ...signalOf(former, former), outcome: "none", detail: null };
}

/**
 * Plays random outcomes in a random order of processing, each once or twice, some together, and
 * compares the open incidents with the model's, which depend on the order of arrival alone. Some
 * outcomes replace another of the same run, which may also be reopened.
 */
export function playDecisions(seed: number): void {
  const random = new Random(`alerts ${seed}`);
  const consecutive = random.int(1, 4);
  const resolveAfter = random.int(1, 4);
  const world = new AlertWorld({
    ...THREE_FAILURES,
    condition: { kind: "run_failed", statuses: ["failed", "timeout"], consecutive },
    resolveAfter,
    renotifySeconds: random.pick([0, 60]),
  });
  const badPercent = random.int(20, 80);
  const outcomes = Array.from({ length: random.int(1, 24) }, (_, n): AgentOutcome => {
    const run = `run_${String(n).padStart(2, "0")}`;
    const what = random.chance(badPercent / 100) ? "bad" : "good";
    const agent = random.pick(AGENTS);
    return { key: run, at: START_MS + STEP_MS * n, what, run, agent };
  });
  const lateness = random.pick([0, 3, 1_000]);
  const reopened = new Set<AgentOutcome>();
  const processed = outcomes.flatMap((outcome, n) => {
    const first = n + random.int(0, lateness);
    if (lateness > 0 && random.chance(1 / 3)) {
      const at = outcome.at - STEP_MS * random.int(0, 4) - 1;
      const former = { ...outcome, at, what: random.pick(["bad", "good", "good"] as const) };
      if (random.chance(1 / 3)) reopened.add(outcome);
      const last = reopened.has(outcome) ? noneOf(former) : signalOf(outcome, former);
      const later = first + random.int(1, 2 * lateness);
      return [[first, signalOf(former)] as const, [later, last] as const];
    }
    const again = random.chance(1 / 4) ? [n + random.int(0, lateness)] : [];
    return [first, ...again].map((place) => [place, signalOf(outcome)] as const);
  }).sort(([a], [b]) => a - b).map(([, signal]) => signal);
  const acts: AgentAct[] = [];
  for (let at = 0; at < processed.length;) {
    const commit = processed.slice(at, at += random.int(1, 4));
    world.nowMs = Math.max(world.nowMs, ...commit.map(({ at }) => at)) + 1;
    world.commit({ signals: commit });
    if (random.chance(1 / 3)) world.recheckDue();
    // A user resolves what is known: what comes later of the time before may open another incident.
    const mayResolve = lateness === 0 && random.chance(1 / 4);
    if (mayResolve) acts.push(...world.resolve(random.pick(AGENTS)));
  }
  const { nowMs } = world;
  const wanted = AGENTS.flatMap((agent) => {
    const own = outcomes.filter((each) => each.agent === agent && !reopened.has(each));
    const settings = { kind: "run_failed", params: { consecutive }, resolve_after: resolveAfter };
    const ofAgent = acts.filter((act) => act.agent === agent);
    const firing = firingOf({ ...settings, kind: "run_failed" }, own, ofAgent, nowMs);
    if (firing === null) return [];
    const runs = firing.bad.map(({ run }) => run).reverse();
    return [[agent, { state: "open", count: runs.length, runs: runs.slice(0, 20) }] as const];
  });
  assertEquals(world.open(), Object.fromEntries(wanted), `seed ${seed}`);
}
