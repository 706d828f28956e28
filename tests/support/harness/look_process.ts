/** A process that also looks at alert rules, with a clock that the test moves. */
import type { RuleSettings } from "../../../domain/alerts/rule.ts";
import type { RuleStore, SilenceStore } from "../../../domain/alerts/store.ts";
import type { Delivery } from "../../../domain/channels/delivery.ts";
import type { RateCardStore } from "../../../domain/pricing/rate_card.ts";
import type { Absence, DueHandler, DueRow } from "../../../domain/clock/due.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { newNotice } from "../../../domain/teams/quota_notice.ts";
import type { NoticePercent } from "../../../domain/teams/quota.ts";
import { createIncidentLooks } from "../../../kv/alerts/incident_looks.ts";
import { createRuleLooks } from "../../../kv/alerts/looks.ts";
import { createRuleStore } from "../../../kv/alerts/rules.ts";
import { createSilenceLooks } from "../../../kv/alerts/silence_looks.ts";
import { createSilenceStore } from "../../../kv/alerts/silences.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { dueSet } from "../../../kv/clock/due_rows.ts";
import { createRateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import { createSpendStore } from "../../../kv/spend/rollups.ts";
import type { Store } from "../../../kv/store.ts";
import { createNoticeStore } from "../../../kv/teams/usage.ts";
import { rateRow } from "../builders/cards.ts";
import { TEAM } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { AlertProcess } from "./alert_process.ts";

/** Settings of a rule for all. */
export function ruleOf(
  condition: RuleSettings["condition"],
  changed: Partial<RuleSettings> = {},
): RuleSettings {
  return {
    condition,
    match: { agents: [], customers: [], features: [] },
    groupBy: null,
    severity: "warning",
    resolveAfter: 1,
    renotifySeconds: 0,
    channels: [],
    enabled: true,
    ...changed,
  };
}

/** One process on a store, with its own caches. */
export class LookProcess extends AlertProcess {
  readonly rules: RuleStore;
  readonly silences: SilenceStore;
  readonly rateCards: RateCardStore;
  readonly handlers: readonly DueHandler[];

  constructor(store: Store) {
    super(store);
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    const environment = { random, now: () => this.nowMs };
    const config = { store, changes: this.updater, region: "eu", environment } as const;
    const deps = { store, changes: this.updater };
    this.rules = createRuleStore(config);
    this.silences = createSilenceStore(config);
    const spend = createSpendStore(store);
    this.rateCards = createRateCardStore(store, environment);
    this.handlers = [
      createRuleLooks({ ...deps, spend, rateCards: this.rateCards }),
      createSilenceLooks(deps),
      createIncidentLooks(deps),
    ];
  }

  /** Puts a rule now. */
  async setRule(slug: string, settings: RuleSettings): Promise<void> {
    const made = { by: "key_1", at: this.nowMs };
    const put = await this.rules.put(TEAM, slug, settings, null, made);
    if (!put.ok) throw new Error(put.problem.message);
  }

  /** Gives a model a price now. */
  async price(model: string): Promise<void> {
    const { id: _id, source: _source, ...row } = rateRow(model, 1, 2);
    await this.rateCards.put(TEAM, { ...row, note: undefined }, "key_1");
  }

  /** Silences rules until a time. */
  async silenceUntil(untilMs: number, rules: readonly string[] = []): Promise<void> {
    const match = { rules, agents: [], customers: [] };
    const made = { by: "key_1", at: this.nowMs };
    const settings = { match, fromMs: null, untilMs, comment: null };
    const put = await this.silences.put(TEAM, "night", settings, null, made);
    if (!put.ok) throw new Error(put.problem.message);
  }

  /** Notes that the events of the current month have reached a share of the plan. */
  async notice(percent: NoticePercent): Promise<void> {
    const name = { team: TEAM.id, month: monthOf(this.nowMs), percent };
    const details = { teamName: "team", month: name.month, percent, used: 80, included: 100 };
    await createNoticeStore(this.store).add(newNotice(name, details, false, this.nowMs));
  }

  /** Files a look at a rule. */
  async file(name: string): Promise<void> {
    const row = { at: this.nowMs, kind: "rule", team: TEAM.id, name } as const;
    await this.store.writer.commit({ sets: [dueSet(row)] });
  }

  /** Moves the clock and looks at everything that is due, until nothing is. */
  async until(nowMs: number, absences: readonly Absence[] = []): Promise<void> {
    this.nowMs = nowMs;
    const turn = { nowMs, summarizedToMs: nowMs, absences };
    for (let rounds = 0;; rounds++) {
      if (rounds > 100) throw new Error("Looks never end");
      const due = await this.due(nowMs);
      const handled = this.handlers.filter(({ kind }) => due.some((row) => row.kind === kind));
      if (handled.length === 0) return;
      for (const handler of handled) {
        const rows = due.filter(({ kind, team }) => kind === handler.kind && team === TEAM.id);
        const distinct = new Map(rows.toReversed().map((row): [string, DueRow] => [row.name, row]));
        await handler.look([...distinct.values()], turn);
      }
    }
  }

  /** Returns incidents as texts: rule, group, count, and how they ended. */
  async states(): Promise<string[]> {
    const all = (await this.incidents()).map((incident) => {
      const { openedAt, rule, groupText, count, state, resolvedBy } = incident;
      const parts = [rule, groupText, count, resolvedBy ?? state];
      return { openedAt, text: parts.filter((part) => part !== "").join(" ") };
    });
    return all.sort((a, b) => a.openedAt - b.openedAt || (a.text < b.text ? -1 : 1))
      .map(({ text }) => text);
  }

  /** Returns the events of the messages, in the order in which they were written. */
  async messages(): Promise<string[]> {
    const rows = this.store.reader.list<Delivery>({ prefix: keys.deliveries(TEAM.id) });
    const all = await Array.fromAsync(rows, ({ value }) => value);
    return all.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      .map(({ message: { event, incident } }) => `${event.slice(9)} ${incident?.title}`);
  }

  /** Returns the rows of the due index up to a time. */
  async due(toMs: number): Promise<DueRow[]> {
    const rows = this.store.reader.list<number>(keys.dueTo(toMs));
    return await Array.fromAsync(
      rows,
      ({ key, value }) => ({ ...keyParts.due(key), failures: value }),
    );
  }

  /** Returns the rows of rules in the due index: minutes from noon, and name. */
  async ruleRows(): Promise<string[]> {
    const rows = this.store.reader.list({ prefix: keys.dueRows() });
    const due = await Array.fromAsync(rows, ({ key }) => keyParts.due(key));
    return due.filter(({ kind }) => kind === "rule")
      .map(({ at, name }) => `${(at - NOON) / 60_000} ${name}`);
  }
}
