/** `/dashboard/checks/:slug`: one check with its days, its agents and its failures. */
import { SeverityTag } from "../alerts/labels.tsx";
import type { Check } from "../../../domain/checks/check.ts";
import {
  CHECK_DAYS_PER_PAGE,
  type CheckCounts,
  type CheckFailure,
} from "../../../domain/checks/check_store.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { readRecords } from "../agents/named_runs.tsx";
import { ColumnChart, Legend } from "../components/column_chart.tsx";
import { Ago, At, KeyValues, Section } from "../components/elements.tsx";
import { capitalized, dayText, formatCount } from "../components/format.ts";
import { objectView, ofObject } from "../objects/pages.tsx";
import { type Column, column, numberColumn, Table, tableSection } from "../components/table.tsx";
import { actorNames } from "../keys/labels.tsx";
import { agentPath, checkPath } from "../layout/paths.ts";
import type { Visit } from "../layout/page.tsx";
import {
  appliesWords,
  chartDays,
  chartSpan,
  countsText,
  endOf,
  failingFrom,
  judgedColumns,
  OUTCOMES,
  passRate,
  SEVERITY_WORDS,
  sumOf,
} from "./outcome.tsx";
import { CHECK_PAGES } from "./check_form.tsx";

/** Reads what the page of a check shows. */
async function load({ deps, team, isAdmin }: Visit, check: Check) {
  const nowMs = deps.environment.now();
  const span = chartSpan(nowMs);
  const { id, updatedBy } = check;
  const [totals, stats, names] = await Promise.all([
    deps.checkStats.totals(team, span.fromDay, span.toDay),
    deps.checkStats.read(team, check, { ...span, limit: CHECK_DAYS_PER_PAGE.max, after: null }),
    actorNames(deps, team, updatedBy === null ? [] : [updatedBy]),
  ]);
  const runs = await readRecords(deps, team, stats.failures.map(({ run }) => run));
  const days = chartDays(totals.get(id ?? "") ?? [], nowMs);
  return {
    check,
    days,
    counts: sumOf(days),
    stats,
    /** Failed runs that still exist, by id. */
    runs: new Map<RunId, RunRecord>(runs.map((run) => [run.id, run])),
    updatedBy: names.get(updatedBy ?? "") ?? updatedBy,
    isAdmin,
  };
}

type Content = Awaited<ReturnType<typeof load>>;

export const showCheck = ofObject(CHECK_PAGES, async (visit, check) => {
  const { slug, settings } = check;
  const content = await load(visit, check);
  return objectView(visit, CHECK_PAGES, slug, {
    subtitle: settings.description ?? undefined,
    buttons: <a class="btn" href={checkPath(slug, "/edit")}>Edit</a>,
    deletion: "Its statistics are deleted, and it judges no further runs. Runs that it judged " +
      "keep its results.",
    body: (
      <>
        <div class="cols two">
          <Days {...content} />
          <Definition {...content} />
        </div>
        <Failures {...content} />
        <Agents {...content} />
      </>
    ),
  });
});

/** Colours of the chart, from the bottom up, with their labels. */
const PARTS = [
  ["failed", "fail", "failed"],
  ["timeout", "error", "not decided"],
  ["success", "pass", "passed"],
] as const;

function Days({ check, days, counts, stats, runs, isAdmin }: Content) {
  const failingSince = failingFrom(stats, runs);
  return (
    <Section
      title={`${days.length} days`}
      aside={counts.pass + counts.fail + counts.error > 0 && <b>{passRate(counts)} passed</b>}
    >
      <p>
        {`${countsText(counts)}. `}
        {failingSince !== null && (
          <span class="err-count">
            Failing since <At at={failingSince} />.
          </span>
        )}
        {isAdmin && counts.error > 0 && (
          <>
            {" "}
            <a href={checkPath(check.slug, "/edit")}>Try it again</a>{" "}
            to see why runs are not decided.
          </>
        )}
      </p>
      <ColumnChart
        title={`${days.length} days by the day on which a run started: ${countsText(counts)}`}
        columns={days.map((of) => ({
          name: dayText(of.day),
          title: `${dayText(of.day)}: ${countsText(of)}`,
          parts: PARTS.map(([name, status]) => [name, of[status]] as const),
        }))}
        format={formatCount}
      />
      <Legend of={PARTS.map(([name, , label]) => [name, label])} />
    </Section>
  );
}

function Definition({ check, updatedBy }: Content) {
  const { settings, version, updatedAt } = check;
  return (
    <Section title="Expression">
      <pre class="code expression" tabindex={0}>{settings.expression}</pre>
      <KeyValues
        pairs={[
          ["Judges", appliesWords(settings)],
          [
            "A failure",
            <>
              <SeverityTag of={settings.severity} /> {SEVERITY_WORDS[settings.severity]}
            </>,
          ],
          ["State", settings.enabled ? "enabled" : "disabled: it judges no further runs"],
          [
            "Version",
            <>
              {version}, set <Ago at={updatedAt} /> by {updatedBy}
            </>,
          ],
        ]}
      />
    </Section>
  );
}

function Failures({ stats: { failures }, runs }: Content) {
  const columns = judgedColumns<CheckFailure>(runs, [
    { head: "Customer", before: "for", cell: ({ run }) => runs.get(run)?.customerId ?? "–" },
    { head: "Ended", cell: (of) => <Ago at={endOf(of, runs)} /> },
    column(
      "Got",
      { class: "whole" },
      ({ got, message }) => got === null ? message ?? <i>removed by age</i> : <code>{got}</code>,
    ),
  ]);
  return failures.length > 0 &&
    tableSection("Latest runs that failed it", { columns, rows: failures });
}

function Agents({ stats: { days, next } }: Content) {
  const byAgent = Map.groupBy(days, ({ agent }) => agent ?? "");
  const rows = [...byAgent].map(([agent, ofAgent]) => ({ agent, ...sumOf(ofAgent) }))
    .sort((a, b) => b.fail - a.fail || b.pass - a.pass);
  if (rows.length === 0) return null;
  return (
    <Section title="By agent">
      <Table label="By agent" class="fold" columns={AGENT_COLUMNS} rows={rows} />
      {next !== null && (
        <p class="soft">
          Up to{" "}
          <time datetime={next.day}>{dayText(next.day)}</time>: there are too many agents and days
          for one page. The API returns all of them.
        </p>
      )}
    </Section>
  );
}

type AgentRow = CheckCounts & { readonly agent: string };

const AGENT_COLUMNS: readonly Column<AgentRow>[] = [
  { head: "Agent", isName: true, cell: ({ agent }) => <a href={agentPath(agent)}>{agent}</a> },
  ...(["pass", "fail", "error", "skipped"] as const).map((status) => {
    const [word] = OUTCOMES[status];
    return numberColumn<AgentRow>(capitalized(word), (row) => formatCount(row[status]), word);
  }),
  numberColumn("Pass rate", passRate),
];
