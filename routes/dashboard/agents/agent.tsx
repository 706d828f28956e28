/** `/dashboard/agents/{slug}`: one agent, its last runs, its name and notes, and its ping tokens. */
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { AGENT_DAYS, type AgentDays } from "../../../domain/spend/agent_days.ts";
import type { KeyPage } from "../../../domain/teams/key_list.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { AGENTS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { mayAdmin } from "../../http/access.ts";
import { InlineNotice } from "../components/elements.tsx";
import { Done } from "../components/done_notice.tsx";
import { AgentDaysTable, DaysChart } from "./days_chart.tsx";
import { FAILURES, readFailures } from "../components/failures.ts";
import { AgentForm } from "./form.tsx";
import { readAgent, readDays } from "./read.ts";
import { AgentRuns } from "./run_table.tsx";
import { AgentTiles } from "./tiles.tsx";
import { PingTokens } from "./ping_tokens.tsx";

/** Maximum numbers of runs, failures and ping tokens listed. */
const RUNS_SHOWN = 10, FAILURES_SHOWN = 5, TOKENS_SHOWN = 20;

export function showAgent(deps: AppDeps): Handle {
  return async (c) => {
    const { team } = c.get("principal");
    const record = await readAgent(deps, c);
    if (record === null) return fail(c, NO_SUCH_AGENT);
    const now = deps.environment.now();
    const canAdmin = mayAdmin(c.get("principal"));
    const details = await readDetails(deps, team, record.agent, now, canAdmin);
    return showPage(c, {
      title: record.name ?? record.agent,
      aside: <a href={AGENTS_PATH}>All agents</a>,
      body: (
        <>
          <Done c={c} />
          <AgentBody {...{ record, details, now, canAdmin }} />
        </>
      ),
    });
  };
}

/** Details shown in addition to the agent's record. */
interface AgentDetails {
  readonly days: AgentDays | undefined;
  readonly latest: readonly RunListRow[];
  readonly failures: readonly RunListRow[];
  /** Null without the scope `admin`. */
  readonly tokens: KeyPage | null;
}

async function readDetails(
  { spend, runList, credentials }: AppDeps,
  team: Team,
  agent: string,
  now: number,
  canAdmin: boolean,
): Promise<AgentDetails> {
  const all = { agent, from: null, to: null };
  const [days, latest, failures, tokens] = await Promise.all([
    readDays(spend, team, [agent], now),
    runList.page(team, all, null, RUNS_SHOWN),
    readFailures(runList, team, all, FAILURES_SHOWN),
    canAdmin ? credentials.list(team, { agent, limit: TOKENS_SHOWN, after: null }) : null,
  ]);
  return { days: days.get(agent), latest: latest.rows, failures, tokens };
}

interface AgentBodyProps {
  readonly record: AgentRecord;
  readonly details: AgentDetails;
  readonly now: number;
  readonly canAdmin: boolean;
}

function AgentBody({ record, details, now, canAdmin }: AgentBodyProps) {
  const { days, latest, failures, tokens } = details;
  const { agent, name, notes, archived } = record;
  return (
    <>
      {archived
        ? (
          <InlineNotice kind="warn">
            <p>Archived: it does not count toward the plan. Its next run restores it.</p>
          </InlineNotice>
        )
        : null}
      {name === null ? null : (
        <p class="soft">
          Slug: <code>{agent}</code>
        </p>
      )}
      {notes === null ? null : <p class="notes">{notes}</p>}
      <AgentTiles record={record} days={days} now={now} />
      <h2>Runs a day, last {AGENT_DAYS} days</h2>
      {days === undefined ? null : (
        <>
          <DaysChart days={days.days} />
          <AgentDaysTable days={days.days} />
        </>
      )}
      <AgentRuns title="Latest runs" agent={agent} statuses={[]} rows={latest} now={now} />
      <AgentRuns
        title="Latest failures"
        agent={agent}
        statuses={FAILURES}
        rows={failures}
        now={now}
      />
      <PingTokens agent={agent} page={tokens} now={now} />
      <h2 id="words">Name, notes, archive</h2>
      {canAdmin ? <AgentForm agent={agent} typed={record} problem={null} /> : (
        <p class="soft">
          Changing these takes a key with the scope <code>admin</code>.
        </p>
      )}
    </>
  );
}
