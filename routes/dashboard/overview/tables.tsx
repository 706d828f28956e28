/** Tables of runs and agents that need attention first. */
import { agentPath, queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { Money, Section } from "../components/elements.tsx";
import { countedText, formatCount, pluralOf } from "../components/format.ts";
import { FIGURE_COLUMNS, RUN_COLUMNS } from "../components/run_columns.tsx";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import type { AgentSpend } from "./agent_spend.ts";
import { DAYS_BEFORE } from "./day_metrics.ts";
import type { Overview } from "./read.ts";

/** Shows the latest failed runs. */
export function FailuresTable({ failures, span }: Overview) {
  const allOf = (status: RunStatus) =>
    `${RUNS_PATH}${queryText([["status", status], ["from", span.from]])}`;
  const caption = "The runs that failed or timed out last.";
  return (
    <Section id="failures" title="Latest failures">
      {failures.length === 0
        ? <p>Nothing failed or timed out today or in the {DAYS_BEFORE} days before.</p>
        : (
          <>
            {runsTable("Latest failures", caption, failures)}
            <p>
              <a href={allOf("failed")}>All that failed</a> ·{" "}
              <a href={allOf("timeout")}>all that timed out</a>
            </p>
          </>
        )}
    </Section>
  );
}

/** Shows the slowest of the newest runs of today. */
export function SlowestTable({ slowest: { runs, compared, isAll } }: Overview) {
  const count = countedText(compared, "run");
  const caption = isAll
    ? `The slowest of ${count} of today.`
    : `The slowest among the newest ${count} of today; older ones are not compared.`;
  return (
    <Section title="Slowest today">
      {runs.length === 0
        ? <p>No run of today has ended.</p>
        : runsTable("Slowest today", caption, runs)}
    </Section>
  );
}

function runsTable(label: string, caption: string, runs: readonly RunListRow[]) {
  const columns: readonly Column<RunListRow>[] = [
    ...RUN_COLUMNS,
    { head: "Agent", class: "agent-name", cell: ({ agent }) => <AgentLink slug={agent} /> },
    ...FIGURE_COLUMNS,
  ];
  return (
    <Table
      label={label}
      class="fold"
      caption={<caption class="soft">{caption}</caption>}
      columns={columns}
      rows={runs}
    />
  );
}

function AgentLink({ slug }: { readonly slug: string | null }) {
  return slug === null ? <>{UNATTRIBUTED}</> : <a href={agentPath(slug)}>{slug}</a>;
}

export function AgentsTable({ agents, span }: Overview) {
  const all = `${SPEND_PATH}${queryText([["group_by", "agent"], ["from", span.from]])}`;
  return (
    <Section title="Spend by agent">
      {agents === null
        ? <p>So many agents ran today that this page does not add them up.</p>
        : (
          <Table
            label="Spend by agent"
            class="fold"
            caption={<caption class="soft">{agentsCaption(agents.leftOut)}</caption>}
            columns={agentColumns(span)}
            rows={agents.agents}
          />
        )}
      <p>
        <a href={all}>All spend by agent</a>
      </p>
    </Section>
  );
}

function agentsCaption(leftOut: number): string {
  return leftOut === 0
    ? "Those that spent most today first."
    : `The agents that spent most today; ${formatCount(leftOut)} more are not shown.`;
}

function agentColumns({ today }: Overview["span"]): readonly Column<AgentSpend>[] {
  return [
    {
      head: "Agent",
      isName: true,
      class: "agent-name",
      cell: ({ agent }) => <AgentLink slug={agent} />,
    },
    numberColumn("Today", ({ costToday }) => <Money of={costToday} />, "today"),
    numberColumn(
      `${DAYS_BEFORE} days before`,
      ({ costBefore }) => costBefore === null ? "see all" : <Money of={costBefore} />,
      `in ${DAYS_BEFORE} days before`,
    ),
    {
      head: "Runs today",
      class: "num",
      unit: ({ runsToday }) => `${pluralOf(runsToday, "run")} today`,
      cell: ({ agent, runsToday }) => {
        const query = queryText([["agent", agent], ["from", today], ["to", today]]);
        const runs = formatCount(runsToday);
        return agent === null ? runs : <a href={`${RUNS_PATH}${query}`}>{runs}</a>;
      },
    },
  ];
}
