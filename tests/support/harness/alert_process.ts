/** A process that counts signals of runs and monitors, without the rest of a service. */
import type { AlertInstance } from "../../../domain/alerts/instance.ts";
import type { Incident } from "../../../domain/alerts/incident.ts";
import type { RuleSettings } from "../../../domain/alerts/rule.ts";
import type { AlertWork } from "../../../domain/alerts/signal.ts";
import type { SilenceSettings } from "../../../domain/alerts/silence.ts";
import type { Delivery } from "../../../domain/channels/delivery.ts";
import type { ProcessingStore } from "../../../domain/runs/processing.ts";
import type { FinishStatus } from "../../../domain/runs/run.ts";
import type { RunStore } from "../../../domain/runs/store.ts";
import type { ConfigKind } from "../../../domain/config/objects.ts";
import { createMaking } from "../../../kv/alerts/making.ts";
import { decodeIncident, decodeInstance } from "../../../kv/alerts/rows.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { getValue, type Store } from "../../../kv/store.ts";
import { RunUpdater } from "../../../kv/summaries/run_updater.ts";
import { processAll, run, runsOf, TEAM } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { processingOf } from "./stores.ts";

/** Three failures in a row of an agent. */
export const THREE_FAILURES: RuleSettings = {
  condition: { kind: "run_failed", statuses: ["failed", "timeout"], consecutive: 3 },
  match: { agents: [], customers: [], features: [] },
  groupBy: "agent",
  severity: "critical",
  resolveAfter: 1,
  renotifySeconds: 0,
  channels: [],
  enabled: true,
};

/** One process on a store, with its own caches and clock. */
export class AlertProcess {
  readonly runs: RunStore;
  readonly updater: RunUpdater;
  readonly pipeline: ProcessingStore;
  nowMs = NOON;

  constructor(readonly store: Store) {
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    const now = () => this.nowMs;
    this.updater = new RunUpdater(store, createMaking("eu", { now, random }));
    this.runs = runsOf(store);
    this.pipeline = processingOf(store, now, this.updater);
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

  /** Processes all pending runs. */
  work(): Promise<void> {
    return processAll(this.store, this.pipeline);
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
    await this.updater.changeInTurn(TEAM.id, "call", async () => {
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

  putSilence(slug: string, silence: SilenceSettings): Promise<void> {
    return this.put("silence", slug, silence);
  }

  /** Changes incidents in a commit of their own, as the clock does. */
  async change(work: AlertWork): Promise<void> {
    await this.updater.changeInTurn(
      TEAM.id,
      "clock",
      () => Promise.resolve({ result: null, rows: { sets: [], deletes: [], alerts: work } }),
    );
  }

  /** Looks at all groups that are due. */
  async look(): Promise<void> {
    const due = (await this.keysOf({ start: ["due"], end: ["due", this.nowMs, true] }))
      .map((key) => keyParts.due(key))
      .filter(({ kind, name }) => kind === "rule" && name.includes(" "));
    for (const { at, name } of due) {
      const [rule = "", ...group] = name.split(" ");
      await this.change({ signals: [], looks: [{ rule, group: group.join(" "), at }] });
    }
  }

  /** All incidents, oldest first. */
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

  async values(prefix: Deno.KvKey): Promise<unknown[]> {
    return await Array.fromAsync(this.store.reader.list({ prefix }), ({ value }) => value);
  }
}
