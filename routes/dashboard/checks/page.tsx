/** `/dashboard/checks`: the checks of a team with their last 30 days, and the page of each. */
import { SeverityTag } from "../alerts/labels.tsx";
import type { Check } from "../../../domain/checks/check.ts";
import {
  CHECK_DAYS_PER_PAGE,
  type CheckCounts,
  type CheckFailure,
} from "../../../domain/checks/check_store.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { teamKey } from "../../http/access.ts";
import { readRecords } from "../agents/named_runs.tsx";
import { ColumnChart, Legend } from "../components/column_chart.tsx";
import { Ago, At, KeyValues, Section } from "../components/elements.tsx";
import { commandTarget, FirstCommand } from "../components/first_command.tsx";
import { capitalized, countedText, dayText, formatCount } from "../components/format.ts";
import { type Column, column, numberColumn, Table, tableSection } from "../components/table.tsx";
import { actorNames } from "../keys/labels.tsx";
import { newPathOf } from "../objects/form.tsx";
import { showList, slugColumn } from "../objects/list.tsx";
import { objectsPage, objectView, ofObject } from "../objects/pages.tsx";
import { get, type Reader, type Visit } from "../layout/page.tsx";
import { agentPath, checkPath, CHECKS_PATH, queryText, RUNS_PATH } from "../layout/paths.ts";
import { CHECK_PAGES, Gallery, showCheckForm } from "./check_form.tsx";
import {
  appliesWords,
  chartDays,
  chartSpan,
  countsText,
  endOf,
  failingFrom,
  judgedColumns,
  OUTCOMES,
  OutcomeStrip,
  passRate,
  SEVERITY_WORDS,
  sumOf,
} from "./outcome.tsx";

const showChecks = showList(CHECK_PAGES, async (checks, visit) => {
  const rows = await loadRows(visit, checks);
  const failing = rows.filter(isFailing).length;
  const target = await commandTarget(visit);
  return {
    subtitle: rows.length === 0
      ? "What a good run is"
      : `${countedText(rows.length, "check")}, ${failing === 0 ? "none" : failing} failing`,
    buttons: <a class="btn" href={FAILED_RUNS_PATH}>Runs that failed a check</a>,
    rows,
    columns: COLUMNS,
    class: "fold checks",
    empty: [
      "No check yet",
      "A check is an expression that is true for a good run. It judges each run when it ends, " +
      "and again when late events, new prices or scores arrive.",
      <>
        <FirstCommand id="command" call="check" target={target} />
        {visit.isAdmin && [
          <h2>Or begin with a template</h2>,
          <Gallery />,
          <p>
            <a href={newPathOf(CHECK_PAGES)}>Empty form</a>
          </p>,
        ]}
      </>,
    ],
  };
});

/** The list of the runs that failed a check. */
const FAILED_RUNS_PATH = RUNS_PATH + queryText([["has", "failed_check"]]);

/** Maximum checks whose failures are read: counts say of the others on which day they failed. */
const FAILING_READ = 20;

/** Reads all checks of a team, failing ones first; a page has room for more than a team has. */
async function loadRows({ deps, team }: Reader, checks: readonly Check[]) {
  const { checkStats, lineage, environment } = deps;
  const nowMs = environment.now();
  const span = chartSpan(nowMs);
  const totals = await checkStats.totals(team, span.fromDay, span.toDay);
  const rows = checks.map((check) => {
    const days = chartDays(totals.get(check.id ?? "") ?? [], nowMs);
    const lastDay = days.findLast(({ fail }) => fail > 0)?.day ?? null;
    return { check, days, counts: sumOf(days), lastDay };
  });
  const failed = rows.filter(({ lastDay }) => lastDay !== null)
    .sort((a, b) => (b.lastDay ?? "").localeCompare(a.lastDay ?? "")).slice(0, FAILING_READ);
  // Of the days, the counts are read already.
  const query = { fromDay: span.toDay, toDay: span.toDay, limit: 1, after: null };
  const read = failed.map(async ({ check }) =>
    [check.slug, await checkStats.read(team, check, query)] as const
  );
  const stats = new Map(await Promise.all(read));
  // The lineage has the ends of all these runs in one read, without their payloads.
  const runs = [...stats.values()].flatMap(({ failures }) => failures.map(({ run }) => run));
  const ends = new Map((await lineage.rows(team, runs)).map((row) => [row.id, row]));
  return rows.map((row) => {
    const ofRow = stats.get(row.check.slug);
    const last = ofRow?.failures[0];
    return {
      ...row,
      /** End of the run that failed last; null if no failure is read. */
      lastAt: last === undefined ? null : endOf(last, ends),
      failingSince: ofRow === undefined ? null : failingFrom(ofRow, ends),
    };
  }).sort((a, b) => Number(isFailing(b)) - Number(isFailing(a)));
}

type CheckRow = Awaited<ReturnType<typeof loadRows>>[number];

function isFailing({ failingSince }: { readonly failingSince: number | null }): boolean {
  return failingSince !== null;
}

/** The last failure of a check; without one, an error is no pass either. */
function LastFailure({ lastDay, lastAt, failingSince, counts: { error } }: CheckRow) {
  if (lastDay === null) {
    return (
      <>
        <span class="soft">none</span>
        {error > 0 && <small class="under st-warn">{formatCount(error)} not decided</small>}
      </>
    );
  }
  if (lastAt === null) return <time datetime={lastDay}>{dayText(lastDay)}</time>;
  return (
    <>
      <Ago at={lastAt} />
      {failingSince !== null && (
        <small class="under err-count">
          failing since <At at={failingSince} />
        </small>
      )}
    </>
  );
}

const COLUMNS: readonly Column<CheckRow>[] = [
  slugColumn(CHECK_PAGES, ({ check }) => check.slug, ({ check: { settings } }) => [
    !settings.enabled && <span class="tag">disabled</span>,
    settings.description && <small class="under">{settings.description}</small>,
  ]),
  { head: "Severity", cell: ({ check }) => <SeverityTag of={check.settings.severity} /> },
  { head: "Judges", class: "whole", cell: ({ check }) => appliesWords(check.settings) },
  { head: "30 days", class: "days", cell: ({ days }) => <OutcomeStrip days={days} /> },
  numberColumn(
    "Passed",
    ({ counts }) => <span title={countsText(counts)}>{passRate(counts)}</span>,
    "passed",
  ),
  column("Last failure", { before: "last failure" }, LastFailure),
];

/** Reads what the page of a check shows. */
async function load({ deps, team, isAdmin }: Visit, check: Check) {
  const nowMs = deps.environment.now();
  const span = chartSpan(nowMs);
  const { id, updatedBy } = check;
  const [totals, stats, names] = await Promise.all([
    deps.checkStats.totals(team, span.fromDay, span.toDay),
    deps.checkStats.read(team, check, { ...span, limit: CHECK_DAYS_PER_PAGE.max, after: null }),
    actorNames({ deps, team }, updatedBy === null ? [] : [updatedBy]),
  ]);
  const runs = await readRecords({ deps, team }, stats.failures.map(({ run }) => run));
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

const showCheck = ofObject(CHECK_PAGES, async (visit, check) => {
  const { slug, settings } = check;
  const content = await load(visit, check);
  return objectView(visit, CHECK_PAGES, slug, {
    subtitle: settings.description ?? undefined,
    buttons: <a class="btn" href={checkPath(slug, "/edit")}>Edit</a>,
    deletion: "Its statistics are deleted, and it judges no further runs. Runs that it judged " +
      "keep its results.",
    body: [
      <div class="cols two">
        <Days {...content} />
        <Definition {...content} />
      </div>,
      <Failures {...content} />,
      <Agents {...content} />,
    ],
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

/** The checks of a team, each with its statistics and its form. */
export const checksPage = objectsPage(CHECK_PAGES, showChecks, showCheck, {
  menu: { name: "Checks", area: "main" },
  routes: [get(`${CHECKS_PATH}/:slug/edit`, showCheckForm, teamKey("admin"))],
});
