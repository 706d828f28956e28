/** `/dashboard/checks`: what is expected of a team's runs, and how often they meet it. */
import type { Check } from "../../../domain/checks/check.ts";
import type { CheckCounts, CheckDay } from "../../../domain/checks/store.ts";
import { CONFIG_PER_PAGE } from "../../../domain/config/objects.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import { Done } from "../components/elements.tsx";
import { commandTarget } from "../components/first_command.tsx";
import { countedText, dayText, formatCount } from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { Ago, At } from "../components/time.tsx";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { CHECKS_PATH, queryText, RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { showCheck, showCheckForm, showNewCheck } from "./check.tsx";
import { submitCheck, submitCheckDeletion, submitTrial } from "./check_changes.tsx";
import { appliesWords } from "./check_words.ts";
import { NoChecks } from "./empty.tsx";
import { chartDays, chartSpan, countsText, OutcomeStrip, passRate, sumOf } from "./days.tsx";
import { endOf, failingFrom } from "./judged_runs.tsx";
import { SeverityTag } from "./outcome.tsx";
import { checkPath, NEW_CHECK_PATH, TRY_PATH } from "./paths.ts";

const showChecks: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const nowMs = deps.environment.now();
  const isAdmin = mayAdmin(principal);
  const rows = await readRows(deps, principal.team, nowMs);
  const failing = rows.filter(isFailing).length;
  return showPage(c, {
    title: "Checks",
    lead: rows.length === 0
      ? "What a good run is"
      : `${countedText(rows.length, "check")}, ${failing === 0 ? "none" : failing} failing`,
    aside: rows.length === 0 ? null : (
      <>
        <a class="btn" href={FAILED_RUNS_PATH}>Runs that failed a check</a>
        {isAdmin && <a class="btn main" href={NEW_CHECK_PATH}>New check</a>}
      </>
    ),
    body: (
      <>
        <Done c={c} />
        {rows.length === 0
          ? <NoChecks target={await commandTarget(deps, c)} isAdmin={isAdmin} />
          : (
            <div class="panel">
              <Table label="Checks" class="fold checks" columns={columnsFor(nowMs)} rows={rows} />
            </div>
          )}
      </>
    ),
  });
};

/** The list of the runs that failed a check. */
const FAILED_RUNS_PATH = RUNS_PATH + queryText([["has", "failed_check"]]);

interface CheckRow {
  readonly check: Check;
  /** Counts of the days of the chart. */
  readonly days: readonly CheckDay[];
  /** The day of the latest failure among them; null for none. */
  readonly lastDay: string | null;
  /**
   * End of the run that failed it last; null without one in these days, or if too many checks
   * failed more recently.
   */
  readonly lastAt: number | null;
  /** End of the run since which it fails; null if it does not. */
  readonly failingSince: number | null;
}

/** Maximum checks whose failures are read: counts say of the others on which day they failed. */
const FAILING_READ = 20;

/** Reads all checks of a team, which are fewer than a page has, those that fail now first. */
async function readRows(
  { checks, checkStats, lineage }: AppDeps,
  team: Team,
  nowMs: number,
): Promise<readonly CheckRow[]> {
  const span = chartSpan(nowMs);
  const [{ objects }, totals] = await Promise.all([
    checks.list(team, { limit: CONFIG_PER_PAGE.max, after: null }),
    checkStats.totals(team, span.fromDay, span.toDay),
  ]);
  const rows = objects.map((check) => {
    const days = chartDays(totals.get(check.id ?? "") ?? [], nowMs);
    return { check, days, lastDay: days.findLast(({ fail }) => fail > 0)?.day ?? null };
  });
  const read = rows.filter(({ lastDay }) => lastDay !== null)
    .sort((a, b) => (b.lastDay ?? "").localeCompare(a.lastDay ?? "")).slice(0, FAILING_READ);
  // Of the days, the counts are read already.
  const query = { fromDay: span.toDay, toDay: span.toDay, limit: 1, after: null };
  const stats = new Map(
    await Promise.all(
      read.map(async ({ check }) =>
        [check.slug, await checkStats.read(team, check, query)] as const
      ),
    ),
  );
  // The lineage has the ends of all these runs in one read, without their payloads.
  const failed = [...stats.values()].flatMap(({ failures }) => failures.map(({ run }) => run));
  const ends = new Map((await lineage.rows(team, failed)).map((row) => [row.id, row]));
  const all = rows.map((row) => {
    const ofRow = stats.get(row.check.slug) ?? null;
    const [last] = ofRow?.failures ?? [];
    return {
      ...row,
      lastAt: last === undefined ? null : endOf(last, ends),
      failingSince: ofRow === null ? null : failingFrom(ofRow, ends),
    };
  });
  return all.toSorted((a, b) => Number(isFailing(b)) - Number(isFailing(a)));
}

function isFailing({ failingSince }: CheckRow): boolean {
  return failingSince !== null;
}

/** What a check without failures shows: an error is no pass either. */
function NoFailure({ error }: CheckCounts) {
  return (
    <>
      <span class="soft">none</span>
      {error > 0 && <small class="under st-warn">{formatCount(error)} not decided</small>}
    </>
  );
}

function columnsFor(now: number): readonly Column<CheckRow>[] {
  return [
    {
      head: "Check",
      isName: true,
      cell: ({ check: { slug, settings } }) => (
        <>
          <a class="row" href={checkPath(slug)}>{slug}</a>
          {!settings.enabled && <span class="tag">disabled</span>}
          {settings.description !== null && <small class="under">{settings.description}</small>}
        </>
      ),
    },
    { head: "Severity", cell: ({ check }) => <SeverityTag of={check.settings.severity} /> },
    { head: "Judges", class: "whole", cell: ({ check }) => appliesWords(check.settings) },
    { head: "30 days", class: "days", cell: ({ days }) => <OutcomeStrip days={days} /> },
    numberColumn("Passed", ({ days }) => {
      const counts = sumOf(days);
      return <span title={countsText(counts)}>{passRate(counts)}</span>;
    }, "passed"),
    {
      head: "Last failure",
      before: "last failure",
      cell: ({ lastAt, failingSince, lastDay, days }) => {
        if (lastDay === null) return <NoFailure {...sumOf(days)} />;
        if (lastAt === null) {
          return <time datetime={lastDay}>{dayText(Date.parse(lastDay))}</time>;
        }
        return (
          <>
            <Ago at={lastAt} now={now} />
            {failingSince !== null && (
              <small class="under err-count">
                failing since <At at={failingSince} />
              </small>
            )}
          </>
        );
      },
    },
  ];
}

const admin = teamKey("admin");

/** The checks of a team, each with its statistics and its form. */
export const checksPage: DashboardPage = {
  path: CHECKS_PATH,
  menu: { name: "Checks", area: "settings" },
  access: teamKey("read"),
  handler: showChecks,
  routes: [
    post(CHECKS_PATH, submitCheck, admin),
    { method: "GET", path: NEW_CHECK_PATH, access: admin, handler: showNewCheck },
    post(TRY_PATH, submitTrial, admin),
    get(`${CHECKS_PATH}/:slug`, showCheck),
    { method: "GET", path: `${CHECKS_PATH}/:slug/edit`, access: admin, handler: showCheckForm },
    post(`${CHECKS_PATH}/:slug/delete`, submitCheckDeletion, admin),
  ],
};
