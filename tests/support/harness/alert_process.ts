/** A process that judges runs and counts their signals, and evaluates what is due. */
import { kindName } from "../../../domain/alerts/signal.ts";
import { createStamps, type Incident } from "../../../domain/alerts/incident.ts";
import type { AlertInstance } from "../../../domain/alerts/instance.ts";
import type { RuleSettings } from "../../../domain/alerts/rule.ts";
import type { AlertWork } from "../../../domain/alerts/signal_sources.ts";
import { type SilencePut, SILENCES, type SilenceSettings } from "../../../domain/alerts/silence.ts";
import type { Delivery } from "../../../domain/channels/delivery.ts";
import type { AllFacts, FactName } from "../../../domain/checks/program.ts";
import type { Absence, Work, WorkHandler } from "../../../domain/work/work.ts";
import type { ConfigStore } from "../../../domain/config/objects.ts";
import type { ConfigKind } from "../../../domain/core/ids.ts";
import { monthOf } from "../../../domain/core/time.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { FinishStatus } from "../../../domain/runs/run.ts";
import { newNotice, type NoticePercent } from "../../../domain/teams/quota.ts";
import { createIncidentWork, createSilenceWork } from "../../../kv/alerts/incident_work.ts";
import { createRuleWork } from "../../../kv/alerts/rule_work.ts";
import { decodeIncident, decodeInstance } from "../../../kv/alerts/rows.ts";
import { RULES } from "../../../domain/alerts/rule_body.ts";
import { createConfigStore } from "../../../kv/config/object_store.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readFacts, type RunToJudge } from "../../../kv/checks/read_facts.ts";
import {
  createJudgeLater,
  type JudgeLater,
  type RunChanges,
} from "../../../kv/checks/check_runs.ts";
import { workSet } from "../../../kv/work/store.ts";
import { createRateCardStore, type RateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import { readHead } from "../../../kv/runs/heads.ts";
import { createSpendStore } from "../../../kv/spend/rollups.ts";
import { getValue, type Store } from "../../../kv/store.ts";
import { noticeSets } from "../../../kv/teams/quota_work.ts";
import { THREE_FAILURES } from "../builders/alert_rules.ts";
import { rateRow } from "../builders/cards.ts";
import { finish, open, run, stagesOf, TEAM } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { StoreProcess } from "./store_process.ts";
import { overStore } from "./temp_store.ts";

/** One process with rules, silences and checks. */
export class AlertProcess extends StoreProcess {
  static readonly test = overStore<AlertProcess>((store) => new AlertProcess(store));

  readonly rules: ConfigStore<RuleSettings>;
  readonly silences: ConfigStore<SilenceSettings, SilencePut>;
  readonly rateCards: RateCardStore;
  readonly handlers: readonly WorkHandler[];
  readonly judge: JudgeLater;

  /** @param wrap replaces how judging changes runs, for races and faults */
  constructor(store: Store, wrap: (changes: RunChanges) => RunChanges = (changes) => changes) {
    super(store, (environment) => createStamps("eu", environment));
    const deps = { store, changes: this.updater };
    const config = { ...deps, region: "eu", environment: this.environment } as const;
    this.rules = createConfigStore(config, RULES);
    this.silences = createConfigStore(config, SILENCES);
    this.rateCards = createRateCardStore(store, this.environment);
    this.handlers = [
      createRuleWork({ ...deps, spend: createSpendStore(store), rateCards: this.rateCards }),
      createSilenceWork(deps),
      createIncidentWork(deps),
    ];
    this.judge = createJudgeLater({ changes: wrap(this.updater), now: this.now });
  }

  /** Opens and finishes a run at a time; it is not processed yet. */
  async close(
    n: number,
    status: FinishStatus,
    atMs = NOON + n,
    fields: { readonly agent?: string; readonly customerId?: string } = {},
  ): Promise<void> {
    const { agent = "a", ...labels } = fields;
    await this.runs.open(TEAM, { id: run(n), agent, startedAt: atMs, ...labels }, atMs);
    await this.runs.finish(TEAM, run(n), { status, finishedAt: atMs }, atMs);
  }

  /** Closes runs by letters, each processed alone: `b` fails, `g` succeeds, `c` is cancelled. */
  async closeAll(text: string, from = 1): Promise<void> {
    const statuses = { b: "failed", g: "success", c: "cancelled" } as const;
    for (const [i, letter] of Array.from(text).entries()) {
      this.nowMs++;
      await this.close(from + i, statuses[letter as keyof typeof statuses]);
      await this.work();
    }
  }

  /** Stores an object that the team configures; null deletes it. */
  async put(kind: ConfigKind, slug: string, settings: unknown, atMs = NOON): Promise<void> {
    await this.updater.commitPlan(TEAM.id, "call", async () => {
      const key = keys.configObject(TEAM.id, kind, slug);
      const known = await getValue<{ readonly version: number }>(this.store, key);
      const versions = await getValue<number>(this.store, keys.config(TEAM.id)) ?? 0;
      const version = (known?.version ?? 0) + 1;
      const made = { createdAt: atMs, updatedAt: atMs, updatedBy: "key_1" };
      const value = settings === null
        ? { slug, version, isDeleted: true }
        : { slug, id: `id_${slug}`, version, settings, ...made };
      const sets = [{ key: keys.config(TEAM.id), value: versions + 1 }, { key, value }];
      return { result: null, rows: { sets, deletes: [] } };
    });
  }

  putRule(slug: string, settings: Partial<RuleSettings>, atMs?: number): Promise<void> {
    return this.put("rule", slug, { ...THREE_FAILURES, ...settings }, atMs);
  }

  putMail(slug: string): Promise<void> {
    const common = { isDefault: true, includeError: true, enabled: true };
    return this.put("channel", slug, { type: "email", to: ["a@b.example"], ...common });
  }

  /** Changes incidents in a commit of their own, as the clock does. */
  async change(work: AlertWork): Promise<void> {
    await this.updater.commitPlan(
      TEAM.id,
      "clock",
      () => Promise.resolve({ result: null, rows: { sets: [], deletes: [], alerts: work } }),
    );
  }

  /** Evaluates all groups that are due. */
  async evaluate(): Promise<void> {
    const due = (await this.due(this.nowMs))
      .filter(({ kind, name }) => kind === "rule" && name.includes(" "));
    for (const { at, name } of due) {
      const [rule = "", ...group] = name.split(" ");
      await this.change({ signals: [], dueGroups: [{ rule, group: group.join(" "), at }] });
    }
  }

  async incidents(): Promise<Incident[]> {
    const rows = await this.values(["incident", TEAM.id]);
    return rows.map((value) => decodeIncident(value) as Incident)
      .sort((a, b) => a.openedAt - b.openedAt);
  }

  /** Incidents that are not resolved, as rule, group, count and numbers of runs. */
  async open(): Promise<string[]> {
    const open = (await this.incidents()).filter(({ state }) => state !== "resolved");
    return open.map(({ rule, groupText, count, runs }) =>
      `${rule} ${groupText} ${count}: ${runs.map((id) => parseInt(id.slice(-6), 16)).join()}`
    ).sort();
  }

  async instances(): Promise<AlertInstance[]> {
    const rows = await this.values(["alert", TEAM.id]);
    return rows.map((value) => decodeInstance(value) as AlertInstance);
  }

  /** Deliveries by their creation, as channel and event; those of one instant by these. */
  async deliveries(): Promise<string[]> {
    const rows = await this.values(["delivery", TEAM.id]) as Delivery[];
    return rows.map(({ channel, createdAt, message: { event } }) => ({
      createdAt,
      text: `${channel} ${event}`,
    })).sort((a, b) => a.createdAt - b.createdAt || (a.text < b.text ? -1 : 1))
      .map(({ text }) => text);
  }

  async keysOf(selector: Deno.KvListSelector): Promise<Deno.KvKey[]> {
    return await Array.fromAsync(this.store.reader.list(selector), ({ key }) => key);
  }

  async setRule(slug: string, settings: RuleSettings): Promise<void> {
    const made = { by: "key_1", at: this.nowMs };
    await this.rules.put(TEAM, slug, settings, null, made);
  }

  async price(model: string): Promise<void> {
    const { id: _id, source: _source, ...row } = rateRow(model, 1, 2);
    await this.rateCards.put(TEAM, { ...row, note: undefined }, "key_1");
  }

  async silenceUntil(untilMs: number, rules: readonly string[] = []): Promise<void> {
    const match = { rules, agents: [], customers: [] };
    const made = { by: "key_1", at: this.nowMs };
    const settings = { match, fromMs: null, untilMs, comment: null };
    await this.silences.put(TEAM, "night", settings, null, made);
  }

  /** Notes that the events of the current month have reached a share of the plan. */
  async notice(percent: NoticePercent): Promise<void> {
    const name = { team: TEAM.id, month: monthOf(this.nowMs), percent };
    const details = { teamName: "team", month: name.month, percent, used: 80, included: 100 };
    const notice = newNotice(name, details, false, this.nowMs);
    await this.store.writer.commit({ sets: noticeSets(notice) });
    await this.file(kindName("quota"));
  }

  async file(name: string): Promise<void> {
    const row = { at: this.nowMs, kind: "rule", team: TEAM.id, name } as const;
    await this.store.writer.commit({ sets: [workSet(row)] });
  }

  /** Moves the clock and evaluates everything that is due, until nothing is. */
  async until(nowMs: number, absences: readonly Absence[] = []): Promise<void> {
    this.nowMs = nowMs;
    const turn = { nowMs, summarizedToMs: nowMs, absences };
    for (let rounds = 0;; rounds++) {
      if (rounds > 100) throw new Error("Evaluations never end");
      const due = await this.due(nowMs);
      const handled = this.handlers.filter(({ kind }) => due.some((row) => row.kind === kind));
      if (handled.length === 0) return;
      for (const handler of handled) {
        const rows = due.filter(({ kind, team }) => kind === handler.kind && team === TEAM.id);
        const distinct = new Map(rows.toReversed().map((row): [string, Work] => [row.name, row]));
        await handler.handle([...distinct.values()], turn, new AbortController().signal);
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

  /** Returns the rows of rules in the due index: minutes from noon, and name. */
  async ruleRows(): Promise<string[]> {
    return (await this.due()).filter(({ kind }) => kind === "rule")
      .map(({ at, name }) => `${(at - NOON) / 60_000} ${name}`);
  }

  /** Opens and finishes run number `n`, with events between. */
  async closeWith(n: number, events: readonly RunEvent[]): Promise<void> {
    await open(this.runs, n);
    if (events.length > 0) await this.runs.append(TEAM, run(n), events, NOON);
    await finish(this.runs, n);
  }

  /** Summarizes pending runs, then does the work that is due. */
  async judgeAll(): Promise<void> {
    await this.work();
    for (const row of await this.dueRuns()) await this.complete(row);
  }

  /** Does the work on a run; `after` is called after it was judged. */
  complete(row: Work, after = () => Promise.resolve()): Promise<void> {
    return this.workOn(row, async (row) => {
      await this.judge(row);
      await after();
    });
  }

  async statesOf(n: number): Promise<string[]> {
    return (await stagesOf(this.store, n)).map(({ state }) => state);
  }

  async factsOf(n: number, ...names: readonly FactName[]) {
    const head = await readHead({ store: this.store, team: TEAM.id, id: run(n) });
    const { facts, missing } = await readFacts(head as RunToJudge, new Set(names));
    return { facts: facts as AllFacts, missing: Object.fromEntries(missing) };
  }
}
