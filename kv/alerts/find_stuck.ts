/**
 * Finds what is true of rules of the kind `stuck`: runs that are open for too long, oldest first.
 *
 * @module
 */
import { createEntryCache } from "../../runtime/memory.ts";
import {
  type AlertSignal,
  groupOf,
  matches,
  type SignalSubject,
  subjectOf,
} from "../../domain/alerts/signal.ts";
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import { OTHER_GROUP } from "../../domain/alerts/rule.ts";
import { OUTCOMES_MAX } from "../../domain/outcomes/window.ts";
import { judgedAt, type WorkTime } from "../../domain/work/work.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { EntryReader, type Position } from "../index/entries.ts";
import { readSummaries } from "../runs/heads.ts";
import type { Store } from "../store.ts";
import { type Finding, instancesOf, minuteAfter, type RuleOf, signalOf } from "./conditions.ts";
import { keys } from "../base/keys.ts";

/** Progress through more stuck runs than one evaluation reads. */
interface Pass {
  /** Position after which the next evaluation begins. */
  readonly after: Position;
  /** Texts of the groups of the runs before it. */
  readonly groups: ReadonlySet<string>;
}

/** Rules whose progress is kept; another one begins again with the oldest run. */
const PASSES_MAX = 1_000;

/** Finds runs that are open for too long. */
export class StuckFinder {
  readonly #store: Store;
  readonly #passes = createEntryCache<string, Pass>(PASSES_MAX);

  constructor(store: Store) {
    this.#store = store;
  }

  /** Finds stuck runs of the groups of a rule, and those that are closed or deleted. */
  async find(team: TeamId, rule: RuleOf<"stuck">, turn: WorkTime): Promise<Finding> {
    const { slug, settings } = rule;
    const name = `${team} ${slug}`;
    const pass = this.#passes.get(name);
    const { seconds } = settings.condition;
    const after = pass?.after ?? null;
    const result = await findStuckRuns(this.#store, team, seconds, after, turn);
    const groups = Map.groupBy(
      result.stuck.filter(({ subject }) => matches(settings, subject)),
      ({ subject }) => groupOf(settings.groupBy, subject).text,
    );
    const stuck = new Set([...pass?.groups ?? [], ...groups.keys()]);
    const { next } = result;
    if (next === null) this.#passes.delete(name);
    else this.#passes.set(name, { after: next, groups: stuck });
    const instances = await instancesOf(this.#store, team, rule);
    const known = new Map(instances.map((instance) => [instance.text, instance]));
    // No outcome of the group that others share is good.
    const own = instances.filter(({ text }) => text !== OTHER_GROUP);
    const over = await this.#over(team, rule, own, result.stuck, turn.nowMs);
    // Runs that were not read may still be stuck.
    const isRead = (text: string) => next === null && !stuck.has(text);
    const signals = [
      ...over.filter(({ text, isLast }) => !isLast || isRead(text)).map(({ signal }) => signal)
        .sort((a, b) => a.at - b.at),
      ...[...groups].flatMap(([text, runs]) =>
        newOnes(rule, runs, known.get(text) ?? known.get(OTHER_GROUP))
      ),
    ];
    return { signals, next: [nextEvaluation(rule, turn.nowMs, result, stuck.size)].flat() };
  }

  /** Returns signals of runs that are no longer stuck; `isLast` if no run of the group is left. */
  async #over(
    team: TeamId,
    rule: RuleOf<"stuck">,
    instances: readonly AlertInstance[],
    stuck: readonly StuckRun[],
    nowMs: number,
  ) {
    const open = new Set<string>(stuck.map(({ run }) => run));
    const checked = instances.flatMap(({ outcomes }) =>
      outcomes.kept.filter(({ key }) => !open.has(key)).map(({ key }) => key as RunId)
    );
    const summaries = await readSummaries({ store: this.#store, team }, checked);
    return instances.flatMap(({ text, group, outcomes }) => {
      const closed = outcomes.kept.filter(({ key }) => {
        const status = summaries.get(key as RunId)?.contribution?.labels.status;
        return !open.has(key) && status !== "running";
      });
      const isLast = closed.length === outcomes.kept.length;
      return closed.map(({ key, run }) => {
        const at = summaries.get(key as RunId)?.times?.receivedAt ?? nowMs;
        const over = { text, group, key, at, run };
        return { text, isLast, signal: signalOf(rule, over, "good") };
      });
    });
  }
}

/** Returns the signals of runs that a group, or the one that it shares, does not know. */
function newOnes(
  rule: RuleOf<"stuck">,
  runs: readonly StuckRun[],
  known: AlertInstance | undefined,
): AlertSignal[] {
  const kept = known?.outcomes.kept ?? [];
  const [oldest] = kept;
  // Older runs than those that are kept were counted before.
  const fromMs = kept.length === OUTCOMES_MAX ? oldest?.at ?? 0 : 0;
  const keys = new Set(kept.map(({ key }) => key));
  return runs.filter(({ run, at }) => !keys.has(run) && at >= fromMs)
    .sort((a, b) => a.at - b.at)
    .map(({ run, subject, at, seconds: value }) => {
      const group = groupOf(rule.settings.groupBy, subject);
      return signalOf(rule, { ...group, key: run, run, at, value }, "bad");
    });
}

function nextEvaluation(
  { slug: name }: RuleOf<"stuck">,
  nowMs: number,
  { next, nextAt }: { readonly next: Position | null; readonly nextAt: number | null },
  stuck: number,
) {
  if (next !== null) return { at: nowMs + 1, name };
  if (stuck > 0) return { at: minuteAfter(nowMs), name };
  return nextAt === null ? [] : { at: minuteAfter(Math.max(nextAt, nowMs)), name };
}

/** Maximum entries of the index of one search. */
const ENTRIES_MAX = 1_000;

/** A run that is open for too long. */
interface StuckRun {
  readonly run: RunId;
  readonly subject: SignalSubject;
  /** Time from which it counts as stuck, unix milliseconds. */
  readonly at: number;
  /** Seconds for which it was open then. */
  readonly seconds: number;
}

/** Result of a search. */
interface StuckRuns {
  readonly stuck: readonly StuckRun[];
  /** Position after which to continue; null if there is no older run. */
  readonly next: Position | null;
  /** Time at which the next run may be stuck, unix milliseconds; null if no other run is open. */
  readonly nextAt: number | null;
}

/**
 * Finds open runs of a team whose opening arrived `seconds` ago. It reads a bounded number of runs,
 * so it may end early. A deadline in an absence of the service is postponed (decision 51).
 *
 * @param after position after which to begin; null for the run that started first
 */
export async function findStuckRuns(
  store: Store,
  team: TeamId,
  seconds: number,
  after: Position | null,
  { nowMs, summarizedToMs, absences }: WorkTime,
): Promise<StuckRuns> {
  const limitMs = seconds * 1_000;
  const order = keys.runsBy(team, "status", "running");
  const reader = new EntryReader(store, order, { end: null, reverse: false });
  // One more than is evaluated, to know when the next run may be stuck.
  const { entries } = await reader.read(after, ENTRIES_MAX + 1);
  const startedTo = summarizedToMs - limitMs;
  const old = entries.slice(0, ENTRIES_MAX).filter(({ at }) => at <= startedTo);
  const summaries = await readSummaries({ store, team }, old.map(({ run }) => run));
  const stuck: StuckRun[] = [];
  const waiting: number[] = [];
  for (const { run } of old) {
    const summary = summaries.get(run);
    const openedAt = summary?.shown.openedAt ?? null;
    const isOpen = summary?.contribution?.labels.status === "running";
    if (summary === undefined || !isOpen || openedAt === null) continue;
    const at = judgedAt(openedAt + limitMs, 0, absences);
    if (at > nowMs || openedAt + limitMs > summarizedToMs) waiting.push(at);
    else stuck.push({ run, subject: subjectOf(summary), at, seconds: (at - openedAt) / 1_000 });
  }
  const following = entries[old.length];
  const isAll = following === undefined || following.at > startedTo;
  if (following !== undefined && isAll) waiting.push(following.at + limitMs);
  const last = old.at(-1);
  return {
    stuck,
    next: isAll || last === undefined ? null : { at: last.at, run: last.run },
    nextAt: waiting.length === 0 ? null : Math.min(...waiting),
  };
}
