/** Runs and agents to look at first. */
import { agentPath, queryText, runPath, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import type { RunStatus } from "../../../domain/runs/run.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { Ago, Money, Status, Wide } from "../components/elements.tsx";
import { countedText, durationText, formatCount, pluralOf } from "../components/format.ts";
import type { AgentSpend } from "./agent_spend.ts";
import { DAYS_BEFORE, type Span } from "./day_metrics.ts";
import type { Overview } from "./read.ts";

/** The runs that failed last. */
export function FailuresTable({ of, nowMs }: { readonly of: Overview; readonly nowMs: number }) {
  const { failures, span } = of;
  const allOf = (status: RunStatus) =>
    `${RUNS_PATH}${queryText([["status", status], ["from", span.from]])}`;
  return (
    <section id="failures">
      <h2>Latest failures</h2>
      {failures.length === 0
        ? <p>Nothing failed or timed out today or in the {DAYS_BEFORE} days before.</p>
        : (
          <>
            <RunsTable
              label="Latest failures"
              caption="The runs that failed or timed out last."
              runs={failures}
              nowMs={nowMs}
            />
            <p>
              <a href={allOf("failed")}>All that failed</a> ·{" "}
              <a href={allOf("timeout")}>all that timed out</a>
            </p>
          </>
        )}
    </section>
  );
}

/** The slowest of the newest runs of today. */
export function SlowestTable({ of, nowMs }: { readonly of: Overview; readonly nowMs: number }) {
  const { runs, lookedAt, isAll } = of.slowest;
  const caption = isAll
    ? `The slowest of ${countedText(lookedAt, "run")} of today.`
    : `The slowest among the newest ${
      countedText(lookedAt, "run")
    } of today; older ones are not compared.`;
  return (
    <section>
      <h2>Slowest today</h2>
      {runs.length === 0
        ? <p>No run of today has ended.</p>
        : <RunsTable label="Slowest today" caption={caption} runs={runs} nowMs={nowMs} />}
    </section>
  );
}

interface Runs {
  readonly label: string;
  readonly caption: string;
  readonly runs: readonly RunListRow[];
  readonly nowMs: number;
}

function RunsTable({ label, caption, runs, nowMs }: Runs) {
  return (
    <Wide label={label}>
      <table class="folding">
        <caption class="soft">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Started</th>
            <th scope="col">Status</th>
            <th scope="col">Agent</th>
            <th scope="col" class="number">Took</th>
            <th scope="col" class="number">Cost</th>
          </tr>
        </thead>
        <tbody>{runs.map((run) => <RunRow of={run} nowMs={nowMs} />)}</tbody>
      </table>
    </Wide>
  );
}

function RunRow({ of, nowMs }: { readonly of: RunListRow; readonly nowMs: number }) {
  return (
    <tr>
      <th scope="row">
        <a href={runPath(of.id)}>
          <Ago at={of.startedAt ?? of.receivedAt} now={nowMs} />
        </a>
      </th>
      <td>
        <Status of={of.status} />
      </td>
      <td class="agent-name">
        <Agent slug={of.agent} />
      </td>
      <td class="number" data-before="took">
        {of.durationMs === null ? "–" : durationText(of.durationMs)}
      </td>
      <td class="number">
        <Money of={of.cost.amount} />
      </td>
    </tr>
  );
}

function Agent({ slug }: { readonly slug: string | null }) {
  return slug === null ? <>{UNATTRIBUTED}</> : <a href={agentPath(slug)}>{slug}</a>;
}

/** What the agents spent. */
export function AgentsTable({ of: { agents, span } }: { readonly of: Overview }) {
  const all = `${SPEND_PATH}${queryText([["group_by", "agent"], ["from", span.from]])}`;
  return (
    <section>
      <h2>Spend by agent</h2>
      {agents === null
        ? <p>So many agents ran today that this page does not add them up.</p>
        : (
          <Wide label="Spend by agent">
            <table class="folding">
              <caption class="soft">
                {agentsCaption(agents.leftOut)}
              </caption>
              <thead>
                <tr>
                  <th scope="col">Agent</th>
                  <th scope="col" class="number">Today</th>
                  <th scope="col" class="number">{DAYS_BEFORE} days before</th>
                  <th scope="col" class="number">Runs today</th>
                </tr>
              </thead>
              <tbody>{agents.agents.map((agent) => <AgentRow of={agent} span={span} />)}</tbody>
            </table>
          </Wide>
        )}
      <p>
        <a href={all}>All spend by agent</a>
      </p>
    </section>
  );
}

function agentsCaption(leftOut: number): string {
  return leftOut === 0
    ? "Those that spent most today first."
    : `The agents that spent most today; ${formatCount(leftOut)} more are not shown.`;
}

function AgentRow({ of, span }: { readonly of: AgentSpend; readonly span: Span }) {
  const { agent, runsToday, costToday, costBefore } = of;
  const query = queryText([["agent", agent], ["from", span.today], ["to", span.today]]);
  const runs: Child = formatCount(runsToday);
  return (
    <tr>
      <th scope="row" class="agent-name">
        <Agent slug={agent} />
      </th>
      <td class="number" data-unit="today">
        <Money of={costToday} />
      </td>
      <td class="number" data-unit={`in ${DAYS_BEFORE} days before`}>
        {costBefore === null ? "see all" : <Money of={costBefore} />}
      </td>
      <td class="number" data-unit={`${pluralOf(runsToday, "run")} today`}>
        {agent === null ? runs : <a href={`${RUNS_PATH}${query}`}>{runs}</a>}
      </td>
    </tr>
  );
}
