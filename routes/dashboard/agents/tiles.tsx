/** The figures of an agent, large. */
import type { Child } from "hono/jsx";
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import { AGENT_DAYS, type AgentDays } from "../../../domain/spend/agent_days.ts";
import { Ago, Money } from "../components/elements.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { CostOfSuccess, LastRunOf, SuccessRate } from "./metrics.tsx";

interface Of {
  readonly record: AgentRecord;
  readonly days: AgentDays | undefined;
  readonly now: number;
}

/** Everything that one wants to know at once. */
export function AgentTiles({ record: { activity, firstSeen }, days, now }: Of) {
  const { runs = 0, failed = 0, running = 0 } = activity ?? {};
  return (
    <div class="tiles">
      <Tile of="Last run">
        <LastRunOf activity={activity} now={now} />
      </Tile>
      <Tile
        of="Succeeded"
        more={`${formatCount(failed)} failed, ${formatCount(running)} running of ${
          countedText(runs, "run")
        }`}
      >
        <SuccessRate activity={activity} />
      </Tile>
      {days === undefined ? null : (
        <>
          <Tile of={`Cost, ${AGENT_DAYS} days`} more={countedText(days.total.runs, "run")}>
            <Money of={days.total.cost} />
          </Tile>
          <Tile of={`Cost per success, ${AGENT_DAYS} days`}>
            <CostOfSuccess measures={days.total} />
          </Tile>
        </>
      )}
      <Tile
        of="Last seen"
        more={
          <>
            first seen <Ago at={firstSeen} now={now} />
          </>
        }
      >
        {activity === null ? "–" : <Ago at={activity.lastSeen} now={now} />}
      </Tile>
    </div>
  );
}

interface TileProps {
  readonly of: string;
  readonly more?: Child;
  readonly children?: Child;
}

function Tile({ of, more, children }: TileProps) {
  return (
    <div class="tile">
      {of}
      <b>{children}</b>
      {more === undefined ? null : <small class="soft">{more}</small>}
    </div>
  );
}
