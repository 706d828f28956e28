/** The life of an incident, and the messages about it. */
import { assertEquals } from "@std/assert";
import type { Channel, ChannelSettings } from "../../../../domain/channels/channel.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import { type AlertSignal, groupOf, isMuted, OTHER } from "../../../../domain/alerts/signal.ts";
import {
  type Incident,
  type TimelineEntry,
  titleOf,
  withEntry,
} from "../../../../domain/alerts/incident.ts";
import {
  type AlertInstance,
  isStored,
  newInstance,
  stateOf,
  withSignal,
} from "../../../../domain/alerts/instance.ts";
import { missedSignals } from "../../../../domain/alerts/signal_sources.ts";
import type { Flip } from "../../../../domain/monitors/row.ts";
import type { Monitor } from "../../../../domain/monitors/monitor.ts";
import { created, HOUR, MINUTE, T0 } from "../monitors/monitors.ts";
import {
  acknowledged,
  announce,
  type Recipients,
  updateIncident,
} from "../../../../domain/alerts/transition.ts";
import type { Rule, RuleCondition, RuleSettings } from "../../../../domain/alerts/rule.ts";
import type { Silence } from "../../../../domain/alerts/silence.ts";

const THREE_FAILURES: RuleCondition = {
  kind: "run_failed",
  statuses: ["failed", "timeout"],
  consecutive: 3,
};

function aRule(condition = THREE_FAILURES, settings: Partial<RuleSettings> = {}): Rule {
  return {
    ...{ slug: "rule", id: "rul_1", version: 2, createdAt: 0, updatedAt: 0, updatedBy: "key_1" },
    settings: {
      condition,
      match: { agents: [], customers: [], features: [] },
      groupBy: "agent",
      severity: "critical",
      resolveAfter: 1,
      renotifySeconds: 0,
      channels: [],
      enabled: true,
      ...settings,
    },
  };
}

function aChannel(slug: string, settings: Partial<ChannelSettings> = {}): Channel {
  const email = { type: "email", to: ["a@b.example"], isDefault: true } as const;
  return {
    ...{ slug, id: `chn_${slug}`, version: 1, createdAt: 0, updatedAt: 0, updatedBy: null },
    settings: { ...email, includeError: true, enabled: true, ...settings } as ChannelSettings,
  };
}

function aSilence(match: Partial<Silence["settings"]["match"]> = {}): Silence {
  return {
    ...{ slug: "night", id: "sil_1", version: 1, createdAt: 0, updatedAt: 0, updatedBy: null },
    settings: {
      match: { rules: [], agents: [], customers: [], ...match },
      fromMs: 100,
      untilMs: 200,
      comment: null,
    },
  };
}

const SUBJECT = { agent: "nightly", customer: null, feature: null, model: null };

function signal(n: number, outcome: AlertSignal["outcome"], detail = "failed"): AlertSignal {
  const run = `run_${n}` as RunId;
  return {
    ...{ kind: "run_failed", rule: null, subject: SUBJECT, key: run, at: n, outcome, run },
    ...{ value: null, detail, error: "no disk" },
  };
}

/** An instance with its incident, as one commit after another changes them. */
class History {
  instance: AlertInstance;
  incident: Incident | null = null;
  readonly sent: string[] = [];
  #ids = 0;

  constructor(
    readonly rule: Rule = aRule(),
    readonly recipients: Recipients = { channels: [aChannel("ops")], silences: [] },
  ) {
    this.instance = newInstance(rule, groupOf("agent", SUBJECT));
  }

  inputs(nowMs: number) {
    return { nowMs, newId: (prefix: string) => `${prefix}_${++this.#ids}` };
  }

  signal(n: number, outcome: AlertSignal["outcome"], isPaused = false): string | null {
    this.instance = withSignal(this.instance, this.rule, signal(n, outcome));
    const open = this.instance.incident === null ? null : this.incident;
    const { instance, notified } = updateIncident(this.instance, open, {
      ...this.inputs(n),
      rule: this.rule,
      recipients: this.recipients,
      isPaused,
      ...outcome === "bad" ? { error: "no disk" } : {},
    });
    this.instance = instance;
    this.incident = notified?.incident ?? this.incident;
    for (const { channel, message, after } of notified?.deliveries ?? []) {
      this.sent.push(`${channel} ${message.event} after ${after}`);
    }
    const isOpen = instance.incident !== null;
    if (isOpen === (open !== null)) return notified === null ? null : "repeated";
    return isOpen ? "opened" : "resolved";
  }
}

Deno.test("an incident opens, counts on and is resolved, with its messages in order", () => {
  const history = new History();
  assertEquals([1, 2, 3].map((n) => history.signal(n, "bad")), [null, null, "opened"]);
  const { count, runs, openedAt, title, error, threshold } = history.incident!;
  assertEquals({ count, runs, openedAt, title, error, threshold }, {
    count: 3,
    runs: ["run_3", "run_2", "run_1"] as RunId[],
    openedAt: 3,
    title: "nightly failed 3 times in a row",
    error: "no disk",
    threshold: 3,
  });
  assertEquals([history.signal(4, "bad"), history.incident?.count], ["repeated", 4]);
  assertEquals(history.signal(4, "bad"), null);
  assertEquals(history.signal(5, "good"), "resolved");
  assertEquals(
    [history.incident?.state, history.incident?.resolvedBy, history.incident?.resolvedAt],
    ["resolved", "condition", 5],
  );
  assertEquals(isStored(history.instance, history.rule), true);
  assertEquals(history.sent, [
    "ops incident.opened after null",
    "ops incident.resolved after whd_2",
  ]);
  assertEquals(
    history.incident?.timeline.map(({ what }) => what),
    ["opened", "notified", "repeated", "resolved", "notified"],
  );
});

Deno.test("a silence holds messages back, and a resolution goes to channels that know of it", () => {
  const silenced = new History(aRule(), { channels: [aChannel("ops")], silences: [aSilence()] });
  for (const n of [101, 102, 103]) silenced.signal(n, "bad");
  assertEquals(silenced.sent, []);
  assertEquals([silenced.incident?.isHeldBack, silenced.incident?.isSilenced], [true, true]);
  const later = announce(
    silenced.incident!,
    silenced.rule,
    silenced.recipients,
    silenced.inputs(200),
  );
  assertEquals(later.deliveries.map(({ message }) => message.event), ["incident.opened"]);
  assertEquals([later.incident.isHeldBack, later.incident.isSilenced], [false, false]);
  silenced.signal(104, "good");
  assertEquals(silenced.sent, []);
  const history = new History(aRule(), { channels: [aChannel("ops")], silences: [aSilence()] });
  for (const n of [1, 2, 3]) history.signal(n, "bad");
  history.signal(150, "good");
  assertEquals(history.sent.map((text) => text.split(" ")[1]), [
    "incident.opened",
    "incident.resolved",
  ]);
});

Deno.test("an acknowledgement goes to webhooks and PagerDuty", () => {
  const secret = { sealed: new Uint8Array(), hint: "0000" };
  const history = new History(aRule(), {
    channels: [
      aChannel("mail"),
      aChannel("pager", { type: "pagerduty", routingKey: secret, region: "us" }),
    ],
    silences: [],
  });
  for (const n of [1, 2, 3]) history.signal(n, "bad");
  const made = { by: "key_1", at: 7 };
  const known = acknowledged(
    history.incident!,
    "on it",
    made,
    history.recipients,
    history.inputs(7),
  );
  assertEquals(known.deliveries.map(({ channel }) => channel), ["pager"]);
  assertEquals(known.incident.acknowledged, { ...made, note: "on it" });
});

Deno.test("messages go to the rule's channels, else to the default ones", () => {
  const channels = [
    aChannel("default"),
    aChannel("own", { isDefault: false }),
    aChannel("off", { enabled: false }),
  ];
  const sentFor = (named: readonly string[]) => {
    const history = new History(aRule(THREE_FAILURES, { channels: named }), {
      channels,
      silences: [],
    });
    for (const n of [1, 2, 3]) history.signal(n, "bad");
    return history.sent.map((text) => text.split(" ")[0]);
  };
  assertEquals(sentFor([]), ["default"]);
  assertEquals(sentFor(["own", "off"]), ["own"]);
  assertEquals(sentFor(["deleted"]), ["default"]);
});

Deno.test("a silence mutes what it names, from its begin until its end", () => {
  const incident = { rule: "failures", group: { agent: "nightly" } };
  assertEquals(isMuted(aSilence(), incident, 100), true);
  assertEquals([isMuted(aSilence(), incident, 99), isMuted(aSilence(), incident, 200)], [
    false,
    false,
  ]);
  assertEquals(isMuted(aSilence({ agents: ["night*"], rules: ["failures"] }), incident, 150), true);
  assertEquals(isMuted(aSilence({ rules: ["missed"] }), incident, 150), false);
  assertEquals(isMuted(aSilence({ customers: ["acme"] }), incident, 150), false);
});

Deno.test("a timeline keeps its first entry and the latest ones", () => {
  let timeline: readonly TimelineEntry[] = [];
  for (let at = 1; at <= 500; at++) {
    timeline = withEntry(timeline, { at, what: "opened", count: at });
  }
  assertEquals(timeline.length, 200);
  assertEquals(timeline[0], { at: 1, what: "opened", count: 1 });
  assertEquals(timeline[1], { at: 302, what: "left_out", entries: 301 });
  assertEquals(timeline.at(-1), { at: 500, what: "opened", count: 500 });
});

/** Subject and latest outcome of an incident, as far as its title depends on them. */
interface Titled {
  readonly agent?: string;
  /** True for the group that others share. */
  readonly isOther?: true;
  readonly count?: number;
  readonly key?: string;
  readonly detail?: string;
  readonly value?: number;
}

const COST: RuleCondition = { kind: "run_cost", usd: "1" };
const SPEND: RuleCondition = { kind: "spend", usd: "1", period: "day" };
const SERVICE: RuleCondition = { kind: "service", what: ["broken_channel", "dead_delivery"] };
const CHECKS: RuleCondition = {
  ...{ kind: "check_failed", checks: [], severityMin: "warn", consecutive: 3 },
};
const CHEAP: RuleCondition = { ...CHECKS, checks: ["cheap"] };
const [CUSTOMERS, FEATURES] = [{ groupBy: "customer" }, { groupBy: "feature" }] as const;

const TITLES: readonly (readonly [
  title: string,
  condition: RuleCondition,
  about: Titled,
  settings?: Partial<RuleSettings>,
])[] = [
  ["a failed", THREE_FAILURES, { agent: "a" }],
  ["Runs timed out", THREE_FAILURES, { detail: "timeout" }],
  ["A run of a cost $1.50, more than $1", COST, { agent: "a", value: 1.5 }],
  ["The team spent $1.50 today: the limit is $1", SPEND, { value: 1.5 }],
  ["A run of a is open for more than 1 day", { kind: "stuck", seconds: 86_400 }, { agent: "a" }],
  ["The team has used 80 % of this month's events", { kind: "quota", percents: [80] }, {
    value: 80,
  }],
  ["(other): runs of further agents failed or timed out 12 times", THREE_FAILURES, {
    ...{ isOther: true, count: 12 },
  }],
  ["(other): runs of further customers cost more than $1", COST, { isOther: true }, CUSTOMERS],
  ["(other): further features reached the limit of $1 today", SPEND, { isOther: true }, FEATURES],
  ["(other): further agents are down", { kind: "missed", reasons: ["missed"] }, { isOther: true }],
  ["(other): further models have no price", { kind: "unpriced" }, { isOther: true }, {
    groupBy: "model",
  }],
  [
    "(other): runs of further groups are open for more than 1 hour",
    { kind: "stuck", seconds: 3_600 },
    { isOther: true },
    { groupBy: null },
  ],
  ["Channel ops is broken and receives no messages", SERVICE, {
    ...{ key: "broken_channel", detail: "ops" },
  }],
  ["Channels ops, pager are broken and receive no messages", SERVICE, {
    ...{ key: "broken_channel", detail: "ops, pager" },
  }],
  ["A message to channel ops could not be delivered", SERVICE, {
    ...{ key: "dead_delivery", detail: "ops" },
  }],
  ["Judge helpful is blocked and judges no runs", SERVICE, {
    ...{ key: "blocked_judge", detail: "helpful" },
  }],
  ["Judges a, b have spent 80 % of the daily cap", SERVICE, {
    ...{ key: "judge_cap_near", detail: "a, b" },
  }],
  ["Judge helpful skips runs: the daily cap is used up", SERVICE, {
    ...{ key: "judge_cap_used_up", detail: "helpful" },
  }],
  ["The processing of a run has failed for good", SERVICE, { key: "dead_stage" }],
  ["a failed check cheap", CHECKS, { agent: "a", detail: "cheap" }],
  ["a failed checks cheap, polite", CHECKS, { agent: "a", detail: "cheap, polite" }],
  ["a failed check cheap 3 times in a row", CHEAP, { agent: "a", detail: "cheap", count: 3 }],
  ["a failed check cheap 3 times", CHEAP, { agent: "a", detail: "cheap", count: 3 }, {
    resolveAfter: 2,
  }],
  ["a failed checks 3 times in a row, the last time cheap, polite", CHECKS, {
    ...{ agent: "a", detail: "cheap, polite", count: 3 },
  }],
];

Deno.test("titles are sentences that name the group, the limit and what failed", () => {
  for (const [title, condition, about, settings] of TITLES) {
    const { agent = null, isOther, count = 1, key = "k", detail = null, value = null } = about;
    const titled = titleOf({
      settings: aRule(condition, settings).settings,
      group: isOther ? OTHER : groupOf("agent", { ...SUBJECT, agent }),
      count,
      last: { at: 1, key, kind: "bad", run: null, value, detail },
    });
    assertEquals(titled, title);
  }
});

Deno.test("titles of a missed run say when it was due, its schedule and the last arrival", () => {
  const flip = { at: T0 + HOUR + 10 * MINUTE, from: "late", to: "down", reason: "missed" } as const;
  const settings = aRule({ kind: "missed", reasons: ["missed", "failed"] }).settings;
  const title = (monitor: Monitor, change: Flip = flip) => {
    const rule = aRule(settings.condition);
    const instance = missedSignals(monitor, [change]).reduce(
      (instance, each) => withSignal(instance, rule, each),
      newInstance(rule, groupOf("agent", { ...SUBJECT, agent: "a" })),
    );
    return titleOf({
      settings,
      ...{ group: instance, count: 1, last: stateOf(instance, rule).last },
    });
  };
  const nightly = { schedule: { cron: "30 2 * * *", tz: "Europe/Berlin" } };
  assertEquals(
    title({ ...created(nightly), expectedAt: T0 + HOUR }),
    "a did not run: due 2026-05-01 01:00 UTC (at 02:30 Europe/Berlin), " +
      "last arrival 2026-04-30 23:00 UTC",
  );
  assertEquals(
    title({ ...created(), expectedAt: T0 + HOUR, lastArrivalAt: null }),
    "a did not run: due 2026-05-01 01:00 UTC (every hour)",
  );
  // A run that was missed before the latest one has another deadline than the monitor.
  assertEquals(
    title({ ...created(), expectedAt: T0 + 2 * HOUR }),
    "a did not run when it was expected",
  );
  assertEquals(title(created(), { ...flip, reason: "failed" }), "a is down: its runs failed");
});
