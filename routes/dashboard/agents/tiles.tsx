/** The metrics of an agent as tiles. */
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import { AGENT_DAYS, type AgentDays } from "../../../domain/spend/agent_days.ts";
import { Ago, Money } from "../components/elements.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { Tile } from "../components/tile.tsx";
import { CostOfSuccess, LastRunOf, SuccessRate } from "./metrics.tsx";

interface TilesProps {
  readonly record: AgentRecord;
  readonly days: AgentDays | undefined;
  readonly now: number;
}

/** Shows the last run, the success rate, the cost and the last call. */
export function AgentTiles({ record: { activity, firstSeen }, days, now }: TilesProps) {
  const { runs = 0, failed = 0, running = 0, lastSeen = null } = activity ?? {};
  return (
    <div class="tiles">
      <Tile name="Last run" value={<LastRunOf activity={activity} now={now} />} />
      <Tile name="Succeeded" value={<SuccessRate activity={activity} />}>
        <small class="soft">
          {formatCount(failed)} failed, {formatCount(running)} running of {countedText(runs, "run")}
        </small>
      </Tile>
      {days === undefined ? null : (
        <>
          <Tile name={`Cost, ${AGENT_DAYS} days`} value={<Money of={days.total.cost} />}>
            <small class="soft">{countedText(days.total.runs, "run")}</small>
          </Tile>
          <Tile
            name={`Cost per success, ${AGENT_DAYS} days`}
            value={<CostOfSuccess measures={days.total} />}
          />
        </>
      )}
      <Tile name="Last seen" value={lastSeen === null ? "–" : <Ago at={lastSeen} now={now} />}>
        <small class="soft">
          first seen <Ago at={firstSeen} now={now} />
        </small>
      </Tile>
    </div>
  );
}
