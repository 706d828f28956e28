/** Tests the model of alerts with scenarios written by hand. */
import { assertEquals } from "@std/assert";
import {
  type Act,
  type Alerts,
  applies,
  firingOf,
  openIncidents,
  type RuleSettings,
} from "./alerts.ts";
import type { Flip, Monitor, Monitors, Run } from "./shape.ts";

/** Instant of the first call, and one after all of them. */
const T = Date.UTC(2026, 10, 21, 12), LATER = T + 3_600_000;
const EVERYTHING = { agents: [], customers: [], features: [] };
const NO_MONITORS: Monitors = { of: {}, outcomes: {} };

const FAILURES: RuleSettings = {
  kind: "run_failed",
  params: { statuses: ["failed", "timeout"], consecutive: 3 },
  match: EVERYTHING,
  group_by: "agent",
  severity: "critical",
  resolve_after: 1,
  renotify_seconds: 0,
  channels: [],
  enabled: true,
};

/** Outcomes of a text: `b` is bad, `g` is good, `p` is a pause; one each second. */
function outcomes(text: string) {
  const words = { b: "bad", g: "good", p: "paused" } as const;
  return [...text].map((letter, n) => ({
    key: `${n}`,
    at: T + 1_000 * n,
    what: words[letter as keyof typeof words],
    run: `${n}`,
  }));
}

/** Returns the runs of the incident that is open after the outcomes; null without one. */
function after(text: string, consecutive: number, resolve_after: number): string | null {
  const firing = firingOf(
    { kind: "run_failed", params: { consecutive }, resolve_after },
    outcomes(text),
    [],
    LATER,
  );
  return firing && firing.bad.map(({ run }) => run).join("");
}

function run(status: string | null, atMs: number, fields = {}, endedMs = atMs): Run {
  const opening = {
    kind: "run" as const,
    agent: "ant",
    started_at: T,
    received_at: T,
    ...fields,
  };
  const closing = { status: status ?? "", finished_at: T + endedMs, received_at: T + atMs };
  return { opening, events: [], ...status === null ? {} : { closing } };
}

function open(runs: readonly Run[], settings: Partial<RuleSettings> = {}, since = 0, now = LATER) {
  const rule = { settings: { ...FAILURES, ...settings }, version: 1, since };
  const alerts: Alerts = { rules: { failures: rule }, acts: {} };
  const byId = Object.fromEntries(runs.map((each, n) => [`r${n}`, each]));
  return openIncidents({ runs: byId, monitors: NO_MONITORS, alerts }, now);
}

const failed = (atMs: number, fields = {}) => run("failed", atMs, fields);

Deno.test("alerts model: an incident opens at the last of some failures in a row", () => {
  assertEquals(after("bb", 3, 1), null);
  assertEquals(after("bbb", 3, 1), "012");
  assertEquals(after("bbgb", 3, 1), null);
  assertEquals(after("gbbbb", 3, 1), "1234");
  assertEquals(after("b", 1, 1), "0");
});

Deno.test("alerts model: an incident ends after some good outcomes in a row", () => {
  assertEquals(after("bbg", 2, 1), null);
  assertEquals(after("bbg", 2, 2), "01");
  assertEquals(after("bbgbg", 2, 2), "013");
  assertEquals(after("bbgg", 2, 2), null);
  assertEquals(after("bbggbb", 2, 2), "45");
  assertEquals(after("bp", 1, 3), null);
});

Deno.test("alerts model: an act holds for the incident of its time", () => {
  const rule = { kind: "run_failed" as const, params: { consecutive: 2 }, resolve_after: 1 };
  const after = (text: string, acts: Act[]) => firingOf(rule, outcomes(text), acts, LATER);
  const resolve = [{ at: T + 1_500, what: "resolve" as const }];
  assertEquals(after("bb", resolve), null);
  // The condition is still true, so its next signal opens the next incident.
  assertEquals(after("bbb", resolve)?.bad.map(({ run }) => run), ["2"]);
  assertEquals(after("bbgb", resolve), null);
  const known = [{ at: T + 1_500, what: "acknowledge" as const }];
  assertEquals(after("bbb", known)?.isKnown, true);
  assertEquals(after("bbgbb", known)?.isKnown, false);
});

Deno.test("alerts model: runs count by the arrival of their close, whatever their names", () => {
  const runs = [failed(3), failed(1), run("success", 2), failed(4), failed(5)];
  assertEquals(open(runs), [{
    rule: "failures",
    group: "ant",
    severity: "critical",
    state: "open",
    count: 3,
    runs: ["r4", "r3", "r0"],
  }]);
});

Deno.test("alerts model: open, cancelled and imported runs, and those before the rule, do not count", () => {
  const once = { params: { statuses: ["failed"], consecutive: 1 } };
  assertEquals(open([run(null, 1)], once), []);
  assertEquals(open([run("cancelled", 1)], once), []);
  assertEquals(open([run("failed", 86_400_001, {}, 0)], once), []);
  assertEquals(open([run("failed", 86_400_000, {}, 0)], once).length, 1);
  assertEquals(open([failed(1), run("cancelled", 2)], once).length, 1);
  // Neither did it fail as the rule says, nor did it succeed.
  assertEquals(open([failed(1), run("timeout", 2)], once).length, 1);
  assertEquals(open([failed(1)], once, T + 1), []);
  assertEquals(open([failed(1)], { ...once, enabled: false }), []);
});

Deno.test("alerts model: an idle close counts at its deadline until a later event", () => {
  const { opening, events } = run(null, 0);
  const idle = { status: "timeout", finished_at: T, received_at: T + 2 };
  const idleRun = { opening, events, idle } as Run;
  const once = { params: { statuses: ["timeout"], consecutive: 1 } };
  assertEquals(open([idleRun], once).length, 1);
  assertEquals(open([idleRun, run("success", 3)], once), []);
  assertEquals(open([idleRun, run("success", 1)], once).length, 1);
  assertEquals(open([run(null, 0)], once), []);
});

Deno.test("alerts model: groups and matches", () => {
  const once = { params: { statuses: ["failed"], consecutive: 1 } };
  const runs = [failed(1, { customer_id: "acme" }), failed(2, { agent: "bee" }), failed(3)];
  const groups = (settings: Partial<RuleSettings>) =>
    open(runs, { ...once, ...settings }).map(({ group, count }) => `${group} ${count}`);
  assertEquals(groups({}), ["ant 2", "bee 1"]);
  assertEquals(groups({ group_by: null }), ["null 3"]);
  assertEquals(groups({ match: { ...EVERYTHING, customers: ["acme"] } }), ["ant 1"]);
  assertEquals(groups({ match: { ...EVERYTHING, agents: ["b*"] } }), ["bee 1"]);
  assertEquals(applies({ ...EVERYTHING, agents: ["*"] }, { agent: "any" }), true);
  assertEquals(applies({ ...EVERYTHING, features: ["search"] }, { agent: "any" }), false);
});

Deno.test("alerts model: a child run counts only for a rule about all runs", () => {
  const once = { statuses: ["failed"], consecutive: 1 };
  const runs = [failed(1), failed(2, { parent_run_id: "r0" })];
  assertEquals(open(runs, { params: once }).map(({ count }) => count), [1]);
  assertEquals(open(runs, { params: { ...once, runs: "all" } }).map(({ count }) => count), [2]);
});

Deno.test("alerts model: a run costs too much above the limit, also while it is open", () => {
  const settings = { kind: "run_cost" as const, params: { usd: "0.5" } };
  const costing = (cost: number, status: string | null) => {
    const { opening, ...others } = run(status, 5);
    const data = { model: "atlas", input_tokens: cost * 1e6 / 3 };
    const event = { id: "e", type: "llm_call", ts: T, received_at: T + 3, data };
    return { ...others, opening, events: [event] } as Run;
  };
  assertEquals(open([costing(0.501, null)], settings).length, 1);
  assertEquals(open([costing(0.501, "success")], settings).length, 1);
  assertEquals(open([costing(0.3, "failed")], settings), []);
  assertEquals(open([costing(0.501, null), costing(0.3, "success")], settings).length, 1);
  const day = 86_400_000;
  assertEquals(open([costing(0.501, null)], settings, 0, T + 3 + day - 1).length, 1);
  assertEquals(open([costing(0.501, "success")], settings, 0, T + 3 + day), []);
});

Deno.test("alerts model: a monitor opens an incident when it goes down", () => {
  const flip = (at: number, from: Flip["from"], to: Flip["to"], reason: string): Flip => ({
    ...{ at: T + at, from, to, reason, run_id: null },
  });
  const opened = (...flips: Flip[]) => {
    const settings: RuleSettings = {
      ...FAILURES,
      kind: "missed",
      params: { reasons: ["missed"] },
    };
    const alerts = { rules: { missed: { settings, version: 1, since: 0 } }, acts: {} };
    const monitors: Monitors = { of: { ant: { flips } as unknown as Monitor }, outcomes: {} };
    return openIncidents({ runs: {}, monitors, alerts }, LATER).length;
  };
  const down = flip(1, "late", "down", "missed");
  assertEquals(opened(down), 1);
  assertEquals(opened(flip(1, "up", "down", "failed")), 0);
  assertEquals(opened(down, flip(2, "down", "up", "recovered")), 0);
  assertEquals(opened(down, flip(2, "down", "paused", "paused")), 0);
});

Deno.test("alerts model: a run is bad if one of the checks fails severely enough", () => {
  const runs = [run("failed", 1), run("timeout", 2), run("success", 3)];
  const after = (checks: readonly string[], severity_min: string, count: number) => {
    const params = { checks, severity_min, consecutive: 1 };
    return open(runs.slice(0, count), { kind: "check_failed", params }).map(({ runs }) =>
      runs.join()
    );
  };
  assertEquals(after([], "warn", 2), ["r1,r0"]);
  assertEquals(after([], "warn", 3), []);
  assertEquals(after([], "fail", 1), ["r0"]);
  // The other check passes, so the run is good.
  assertEquals(after([], "fail", 2), []);
  assertEquals(after(["finished", "absent"], "warn", 1), ["r0"]);
  // The check that fails is not severe enough, and nothing passes.
  assertEquals(after(["patient"], "fail", 2), []);
  assertEquals(after(["absent"], "info", 2), []);
});
