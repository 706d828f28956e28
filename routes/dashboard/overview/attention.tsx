/** Lists of what needs attention, runs now, failed a check or took longest. */
import type { Child } from "hono/jsx";
import { deadlinesOf, type Monitor } from "../../../domain/monitors/monitor.ts";
import { scheduleWords } from "../../../domain/monitors/schedule.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { incidentEntry } from "../alerts/entries.tsx";
import { openFor } from "../alerts/labels.tsx";
import * as paths from "../layout/paths.ts";
import { LoadBar } from "../components/column_chart.tsx";
import {
  Ago,
  At,
  Feed,
  type FeedEntry,
  Money,
  Section,
  STATUS_ICONS,
} from "../components/elements.tsx";
import { countedText, durationText, formatCount, listed } from "../components/format.ts";
import { MONITOR_LABELS } from "../components/monitor.tsx";
import { FAILURES } from "../components/run_state.tsx";
import { nameOr } from "../run/texts.ts";
import { RUNNING_PATH } from "./metrics.tsx";
import { type OverviewData, SHOWN } from "./overview_load.ts";
import type { DayMetrics, FailureGroup, OpenRun } from "./overview_view.ts";

/** Path of the runs that failed or timed out. */
const FAILED_PATH = paths.RUNS_PATH +
  paths.queryText(FAILURES.map((status) => ["status", status] as const));

/** The entries of what needs attention, and their number. */
export type Attention = ReturnType<typeof attentionOf>;

/** Returns incidents, agents that are down or late, stuck runs, failures, calls without a price. */
export function attentionOf(data: OverviewData, open: number) {
  const { incidents, monitors, stuck, failures, days, span: { nowMs } } = data;
  const notes = unpricedEntries(days);
  return {
    count: open + monitors.length + stuck.length + failures.length + notes.length,
    entries: [
      ...incidents.slice(0, SHOWN).map((of) => incidentEntry(of, openFor(of, nowMs))),
      ...monitors.slice(0, SHOWN).map((monitor) => monitorEntry(monitor, nowMs)),
      ...stuck.slice(0, SHOWN).map((run) => stuckEntry(run, nameIn(data, run), nowMs)),
      ...failures.slice(0, SHOWN).map((group) => failureEntry(group)),
      ...notes,
    ],
  };
}

/** Lists what needs attention. */
export function NeedsAttention({ of: { count, entries } }: { readonly of: Attention }) {
  return (
    <Section
      id="attention"
      title="Needs attention"
      tag={count === 0 ? undefined : formatCount(count)}
      aside={[
        <a href={paths.AGENTS_PATH}>All agents</a>,
        <a href={FAILED_PATH}>All failures</a>,
        <a href={paths.ALERTS_PATH}>All alerts</a>,
      ]}
    >
      <Feed
        entries={entries}
        empty="No incident is open, no agent is late, and nothing failed in 24 hours."
      />
    </Section>
  );
}

function monitorEntry(monitor: Monitor, nowMs: number): FeedEntry {
  const { agent, state, since, settings, lastArrivalAt } = monitor;
  const { expectedAt, downAfter } = deadlinesOf(monitor);
  const [word, icon] = MONITOR_LABELS[state];
  const isDue = expectedAt !== null && expectedAt <= nowMs;
  const expected = isDue && ["Expected ", <At at={expectedAt} />];
  return {
    ...{ to: paths.agentPath(agent), mark: [icon], end: <Ago at={since} /> },
    title: `${agent} is ${word.toLowerCase()}`,
    text: [
      isDue && <span class={state === "down" ? "err-count" : "more"}>{expected}</span>,
      isDue && state === "late" && downAfter !== null && [", goes down ", <At at={downAfter} />],
      `${isDue ? ". " : ""}${scheduleWords(settings.schedule)}.`,
      lastArrivalAt !== null && [" Last arrival ", <At at={lastArrivalAt} />, "."],
    ],
  };
}

function runEntry(run: RunListRow, title: string, end: Child, text: Child): FeedEntry {
  return { to: paths.runPath(run.id), mark: [STATUS_ICONS[run.status]], title, end, text };
}

function wordsOf({ agent, customerId }: RunListRow): string {
  return [agent, customerId].filter(Boolean).join(" · ");
}

function stuckEntry(run: RunListRow, name: string, nowMs: number): FeedEntry {
  const startedAt = run.startedAt ?? run.receivedAt;
  const reason = (
    <span class="more">
      Does not end: open since <At at={startedAt} />
    </span>
  );
  const text = [reason, ` · ${wordsOf(run)}`];
  return { ...runEntry(run, name, durationText(nowMs - startedAt), text), mark: ["late"] };
}

function failureEntry(group: FailureGroup): FeedEntry {
  const { run, name, failure, agents, count } = group;
  const [word, colour] = run.status === "timeout" ? ["Timed out", "more"] : ["Failed", "err-count"];
  const message = failure?.message === name ? null : failure?.message;
  const reason = [message ?? word, failure?.path].filter(Boolean).join(" · ");
  const words = count === 1 ? wordsOf(run) : `${listed(agents, 2)} · ${formatCount(count)} runs`;
  return runEntry(run, name, <Ago at={run.finishedAt ?? run.receivedAt} />, [
    <span class={colour}>{reason}</span>,
    ` · ${words}`,
  ]);
}

/** Returns at most one entry: about calls whose cost is unknown. */
function unpricedEntries(days: readonly DayMetrics[]): readonly FeedEntry[] {
  const unpriced = days.reduce((sum, day) => sum + day.unpricedCalls, 0);
  const uncounted = days.reduce((sum, day) => sum + day.uncountedCalls, 0);
  const all = unpriced + uncounted;
  if (all === 0) return [];
  const lacks = [unpriced > 0 && "no price", uncounted > 0 && "no token counts"].filter(Boolean);
  return [{
    ...{ to: `${paths.SPEND_PATH}#unpriced`, mark: ["warn"] },
    title: `${countedText(all, "call")} ${all === 1 ? "has" : "have"} ${lacks.join(" or ")}`,
    end: unpriced > 0 ? "Add a price" : "See the models",
    text: `${all === 1 ? "It counts" : "They count"} as $0, so costs are too low`,
  }];
}

/** Open runs shown. */
const RUNS_SHOWN = 8;

/** Runs that are open, checks that runs of today failed, and the slowest runs of today. */
export function Side({ data }: { readonly data: OverviewData }) {
  const { running, openRuns, checks, slowest } = data;
  const failed = checks.filter(({ fail }) => fail > 0);
  const slow = countedText(slowest.compared, slowest.isAll ? "run" : "newest run");
  return (
    <div class="side">
      <Section title="Running now" tag={running} aside={<a href={RUNNING_PATH}>All</a>}>
        <Feed entries={openRuns.slice(0, RUNS_SHOWN).map(runningEntry)} empty="Nothing runs." />
      </Section>
      {checks.length > 0 && (
        <Section
          title="Failed checks today"
          tag={formatCount(failed.length)}
          aside={<a href={paths.CHECKS_PATH}>All checks</a>}
        >
          <Feed entries={failed.slice(0, SHOWN).map(checkEntry)} empty="No run failed a check." />
        </Section>
      )}
      <Section title="Slowest today" aside={<small class="soft">of today's {slow}</small>}>
        <Feed
          entries={slowest.rows.map((run) => slowEntry(run, nameIn(data, run)))}
          empty="No run of today has ended."
        />
      </Section>
    </div>
  );
}

/** An open run, with its time as a bar. */
function runningEntry({ run, name, openMs, usualMs, isFarOver }: OpenRun): FeedEntry {
  const usual = usualMs === null ? "usual unknown" : `usual ${durationText(usualMs)}`;
  const end = <span class={isFarOver ? "more" : undefined}>{usual}</span>;
  return {
    ...runEntry(run, name, [durationText(openMs), <br />, end], wordsOf(run)),
    bar: usualMs !== null && loadBar(openMs, usualMs, isFarOver),
  };
}

/** Place of the usual time in a bar, as a share; a longer run moves it left. */
const MARK = 0.75;

function loadBar(openMs: number, usualMs: number, isFar: boolean) {
  const all = Math.max(openMs, usualMs / MARK);
  return (
    <LoadBar share={100 * openMs / all} mark={100 * usualMs / all} level={isFar ? "far" : "now"} />
  );
}

function checkEntry(check: OverviewData["checks"][number]): FeedEntry {
  const { slug, description, fail, judged } = check;
  const end = `${formatCount(fail)} of ${formatCount(judged)} failed`;
  return { to: paths.checkPath(slug), mark: ["bad"], title: slug, end, text: description };
}

function slowEntry(run: RunListRow, name: string): FeedEntry {
  const text = [`${wordsOf(run)} · `, <Money of={run.cost.amount} />];
  return runEntry(run, name, durationText(run.durationMs ?? 0), text);
}

function nameIn({ lines }: OverviewData, run: RunListRow): string {
  return nameOr(run, lines.get(run.id)?.name);
}
