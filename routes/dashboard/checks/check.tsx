/** `/dashboard/checks/:slug`: one check with its days, its agents and its failures; and its form. */
import type { Check } from "../../../domain/checks/check.ts";
import { CHECK_DAYS_PER_PAGE, type CheckDay } from "../../../domain/checks/store.ts";
import { CHECK_TEMPLATES } from "../../../domain/checks/templates.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { mayAdmin } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps } from "../../http/context.ts";
import { noSuch } from "../../api/config/objects.ts";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { Crumbs, Done, KeyValues, Section } from "../components/elements.tsx";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { dayText, formatCount } from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { Ago, At } from "../components/time.tsx";
import { readRecords } from "../agents/named_runs.tsx";
import { readKnownValues } from "../alerts/known_values.tsx";
import { actorNames } from "../keys/labels.tsx";
import { agentPath, CHECKS_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { checkFormView } from "./check_form.tsx";
import { newCheckTexts, textsOfCheck } from "./check_texts.ts";
import { appliesWords, SEVERITY_WORDS } from "./check_words.ts";
import { chartDays, chartSpan, countsText, passRate, sumOf } from "./days.tsx";
import { endOf, failingFrom, JudgedRun } from "./judged_runs.tsx";
import { SeverityTag } from "./outcome.tsx";
import { checkPath } from "./paths.ts";

/** Reads the check that the path names; null if there is none. */
async function checkInPath(
  { checks }: AppDeps,
  team: Team,
  slug: string | undefined,
): Promise<Check | null> {
  return isConfigSlug(slug ?? null) ? await checks.read(team, slug ?? "") : null;
}

/** Shows one check. */
export const showCheck: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const check = await checkInPath(deps, principal.team, c.req.param("slug"));
  if (check === null) return fail(c, noSuch("check"));
  const nowMs = deps.environment.now();
  const { slug, settings } = check;
  const isAdmin = mayAdmin(principal);
  const content = { ...await readContent(deps, principal.team, check, nowMs), isAdmin };
  const confirms = isAdmin && c.req.query("confirm") === "delete";
  return showPage(c, {
    title: slug,
    lead: settings.description ?? undefined,
    crumbs: <Crumbs links={[["Checks", CHECKS_PATH]]} />,
    aside: isAdmin && !confirms
      ? (
        <>
          <a class="btn" href={checkPath(slug) + queryText([["confirm", "delete"]])}>Delete…</a>
          <a class="btn" href={checkPath(slug, "/edit")}>Edit</a>
        </>
      )
      : null,
    body: (
      <>
        <Done c={c} />
        {confirms && <ConfirmDeletion slug={slug} />}
        <div class="cols two">
          <Days {...content} />
          <Definition {...content} />
        </div>
        <Failures {...content} />
        <Agents {...content} />
      </>
    ),
  });
};

type Content = Awaited<ReturnType<typeof readContent>> & { readonly isAdmin: boolean };

async function readContent(deps: AppDeps, team: Team, check: Check, nowMs: number) {
  const { checkStats } = deps;
  const span = chartSpan(nowMs);
  const [totals, stats, names] = await Promise.all([
    checkStats.totals(team, span.fromDay, span.toDay),
    checkStats.read(team, check, { ...span, limit: CHECK_DAYS_PER_PAGE.max, after: null }),
    actorNames(deps, team, check.updatedBy === null ? [] : [check.updatedBy]),
  ]);
  const runs = await readRecords(deps, team, stats.failures.map(({ run }) => run));
  return {
    check,
    days: chartDays(totals.get(check.id ?? "") ?? [], nowMs),
    stats,
    /** Failed runs that still exist, by id. */
    runs: new Map<RunId, RunRecord>(runs.map((run) => [run.id, run])),
    updatedBy: names.get(check.updatedBy ?? "") ?? check.updatedBy,
    nowMs,
  };
}

/** Colours of the chart, from the bottom up, with their labels. */
const PARTS = [
  ["failed", "fail", "failed"],
  ["timeout", "error", "not decided"],
  ["success", "pass", "passed"],
] as const;

function Days({ check, days, stats, runs, isAdmin }: Content) {
  const counts = sumOf(days);
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
          name: dayText(Date.parse(of.day)),
          title: `${dayText(Date.parse(of.day))}: ${countsText(of)}`,
          parts: PARTS.map(([name, status]) => [name, of[status]] as const),
        }))}
        format={formatCount}
      />
      <p class="below-chart">
        {PARTS.map(([name, , label]) => (
          <>
            <Swatch of={name} /> {label}
            {" "}
          </>
        ))}
      </p>
    </Section>
  );
}

function Definition({ check, updatedBy, nowMs }: Content) {
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
              {version}, set <Ago at={updatedAt} now={nowMs} /> by {updatedBy}
            </>,
          ],
        ]}
      />
    </Section>
  );
}

function Failures({ stats, runs, nowMs }: Content) {
  const { failures } = stats;
  if (failures.length === 0) return null;
  const columns: readonly Column<typeof failures[number]>[] = [
    {
      head: "Run",
      isName: true,
      cell: ({ run }) => <JudgedRun id={run} run={runs.get(run)} />,
    },
    { head: "Agent", cell: ({ run }) => runs.get(run)?.agent ?? "–" },
    { head: "Customer", before: "for", cell: ({ run }) => runs.get(run)?.customerId ?? "–" },
    { head: "Ended", cell: (of) => <Ago at={endOf(of, runs)} now={nowMs} /> },
    {
      head: "Got",
      class: "whole",
      cell: ({ got, message }) =>
        got === null ? message ?? <i>removed by age</i> : <code>{got}</code>,
    },
  ];
  return (
    <Section title="Latest runs that failed it">
      <Table label="Latest failures" class="fold" columns={columns} rows={failures} />
    </Section>
  );
}

function Agents({ stats: { days, next } }: Content) {
  const byAgent = Map.groupBy(days, ({ agent }) => agent ?? "");
  const rows = [...byAgent].map(([agent, ofAgent]) => ({ agent, days: ofAgent, ...sumOf(ofAgent) }))
    .sort((a, b) => b.fail - a.fail || b.pass - a.pass);
  if (rows.length === 0) return null;
  return (
    <Section title="By agent">
      <Table label="By agent" class="fold" columns={AGENT_COLUMNS} rows={rows} />
      {next !== null && (
        <p class="soft">
          Up to{" "}
          <time datetime={next.day}>{dayText(Date.parse(next.day))}</time>: there are too many
          agents and days for one page. The API returns all of them.
        </p>
      )}
    </Section>
  );
}

type AgentRow = Omit<CheckDay, "day"> & { readonly agent: string };

const AGENT_COLUMNS: readonly Column<AgentRow>[] = [
  { head: "Agent", isName: true, cell: ({ agent }) => <a href={agentPath(agent)}>{agent}</a> },
  ...(["pass", "fail", "error", "skipped"] as const).map((status) => {
    const head =
      { pass: "Passed", fail: "Failed", error: "Not decided", skipped: "Skipped" }[status];
    return numberColumn<AgentRow>(head, (row) => formatCount(row[status]), head.toLowerCase());
  }),
  numberColumn("Pass rate", passRate),
];

function ConfirmDeletion({ slug }: { readonly slug: string }) {
  return (
    <ConfirmForm
      action={checkPath(slug, "/delete")}
      title={`Delete the check “${slug}”?`}
      submit="Delete check"
      cancelTo={checkPath(slug)}
    >
      <p>
        Its statistics are deleted, and it judges no further runs. Runs that it judged keep its
        results.
      </p>
    </ConfirmForm>
  );
}

/** Shows the form of a new check, filled in from a template if the query names one. */
export const showNewCheck: Handler = async (c, deps) => {
  const name = c.req.query("template");
  const template = CHECK_TEMPLATES.find((of) => of.name === name);
  const texts = template === undefined
    ? {}
    : { slug: template.name, expression: template.expression };
  return showPage(
    c,
    checkFormView({
      ...{ form: newCheckTexts(texts), problem: null, exists: false },
      known: await readKnownValues(deps, c.get("principal").team),
    }),
  );
};

/** Shows the form of a check. */
export const showCheckForm: Handler = async (c, deps) => {
  const check = await checkInPath(deps, c.get("principal").team, c.req.param("slug"));
  if (check === null) return fail(c, noSuch("check"));
  const form = textsOfCheck(check.slug, check.settings, check.version);
  const known = await readKnownValues(deps, c.get("principal").team);
  return showPage(c, checkFormView({ form, problem: null, exists: true, known }));
};
