/** Tables of what costs most and takes longest today. */
import { agentPath, queryText, runPath, SPEND_PATH } from "../layout/paths.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { ShareBar } from "../components/column_chart.tsx";
import { Money, Section } from "../components/elements.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { FIGURE_COLUMNS } from "../components/run_columns.tsx";
import { type Column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { nameOf } from "../runs/runs_view.ts";
import type { OverviewData } from "./overview_load.ts";
import { type AgentSpend, rankAgents } from "./overview_view.ts";

/** Agents listed: those with the highest spend today. */
const AGENTS_SHOWN = 8;

type TablesProps = Pick<OverviewData, "agents" | "slowest" | "lines" | "span">;

export function Tables({ agents, slowest, lines, span }: TablesProps) {
  const slow = countedText(slowest.compared, slowest.isAll ? "run" : "newest run");
  const columns: readonly Column<RunListRow>[] = [
    {
      head: "Run",
      isName: true,
      class: "cut",
      cell: (run) => <a class="row" href={runPath(run.id)}>{nameOf(run, lines.get(run.id))}</a>,
    },
    { head: "Agent", class: "agent-name", cell: ({ agent }) => <AgentLink slug={agent} /> },
    ...FIGURE_COLUMNS,
  ];
  const all = SPEND_PATH + queryText([["group_by", "agent"], ["from", span.from]]);
  return (
    <div class="cols two">
      <Section title="Spend by agent today" aside={<a href={all}>All spend by agent</a>}>
        {agents.today === null
          ? <p>So many agents ran today that this page does not add them up.</p>
          : <AgentTable of={rankAgents(agents.today, agents.before)} days={span.days.length - 1} />}
      </Section>
      <Section title="Slowest today" aside={<small class="soft">of the {slow} of today</small>}>
        {slowest.rows.length === 0
          ? <p class="quiet">No run of today has ended.</p>
          : <Table label="Slowest today" class="fold" columns={columns} rows={slowest.rows} />}
      </Section>
    </div>
  );
}

function AgentLink({ slug }: { readonly slug: string | null }) {
  return slug === null ? <>{UNATTRIBUTED}</> : <a href={agentPath(slug)}>{slug}</a>;
}

interface AgentTableProps {
  readonly of: readonly AgentSpend[];
  /** Number of days before today. */
  readonly days: number;
}

function AgentTable({ of, days }: AgentTableProps) {
  const all = of.reduce((sum, { cost }) => sum + cost, 0n);
  const columns: readonly Column<AgentSpend>[] = [
    {
      head: "Agent",
      isName: true,
      class: "agent-name",
      cell: ({ agent }) => <AgentLink slug={agent} />,
    },
    {
      head: "Share",
      class: "shares",
      cell: ({ cost }) => <ShareBar part={cost} all={all} />,
    },
    countColumn("Runs", ({ runs }) => runs, "run"),
    numberColumn("Today", ({ cost }) => <Money of={cost} />, "today"),
    numberColumn(
      `${days} days before`,
      ({ before }) => before === null ? "see all" : <Money of={before} />,
      `in ${days} days before`,
    ),
  ];
  const more = of.length - AGENTS_SHOWN;
  return (
    <>
      <Table
        label="Spend by agent today"
        class="fold"
        columns={columns}
        rows={of.slice(0, AGENTS_SHOWN)}
      />
      {more > 0 && <p class="foot">{formatCount(more)} more agents spent less.</p>}
    </>
  );
}
