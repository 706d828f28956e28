/** `/dashboard/checks`: the checks of a team with their last 30 days. */
import { SeverityTag } from "../alerts/labels.tsx";
import type { Check } from "../../../domain/checks/check.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { teamKey } from "../../http/access.ts";
import type { AppDeps } from "../../http/context.ts";
import { Ago, At } from "../components/elements.tsx";
import { commandTarget, FirstCommand } from "../components/first_command.tsx";
import { countedText, dayText, formatCount } from "../components/format.ts";
import { type Column, column, numberColumn } from "../components/table.tsx";
import { newPathOf } from "../objects/form.tsx";
import { showList, slugColumn } from "../objects/list.tsx";
import { objectsPage } from "../objects/pages.tsx";
import { get } from "../layout/page.tsx";
import { CHECKS_PATH, queryText, RUNS_PATH } from "../layout/paths.ts";
import { showCheck } from "./check.tsx";
import { CHECK_PAGES, Gallery, showCheckForm } from "./check_form.tsx";
import {
  appliesWords,
  chartDays,
  chartSpan,
  countsText,
  endOf,
  failingFrom,
  OutcomeStrip,
  passRate,
  sumOf,
} from "./outcome.tsx";

const showChecks = showList(CHECK_PAGES, async (checks, visit) => {
  const rows = await load(visit.deps, visit.team, checks);
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
        {visit.isAdmin && (
          <>
            <h2>Or begin with a template</h2>
            <Gallery />
            <p>
              <a href={newPathOf(CHECK_PAGES)}>Empty form</a>
            </p>
          </>
        )}
      </>,
    ],
  };
});

/** The list of the runs that failed a check. */
const FAILED_RUNS_PATH = RUNS_PATH + queryText([["has", "failed_check"]]);

/** Maximum checks whose failures are read: counts say of the others on which day they failed. */
const FAILING_READ = 20;

/** Reads all checks of a team, failing ones first; a page has room for more than a team has. */
async function load(
  { checkStats, lineage, environment }: AppDeps,
  team: Team,
  checks: readonly Check[],
) {
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

type CheckRow = Awaited<ReturnType<typeof load>>[number];

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

/** The checks of a team, each with its statistics and its form. */
export const checksPage = objectsPage(CHECK_PAGES, showChecks, showCheck, {
  menu: { name: "Checks", area: "main" },
  routes: [get(`${CHECKS_PATH}/:slug/edit`, showCheckForm, teamKey("admin"))],
});
