/** What the board shows while no agent has a monitor: what one does, and the first ones to create. */
import type { MonitorProposal } from "../../../domain/monitors/store.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { agentPath } from "../layout/paths.ts";
import { Section } from "../components/elements.tsx";
import type { Board } from "./board.ts";
import { CreateButton } from "./monitor_form.tsx";
import { Proposal, settingsOf } from "./monitor_panel.tsx";

/** Agents whose rhythm is searched, and proposals shown. */
const SEARCHED_MAX = 10, SHOWN = 3;

/** A proposal with its agent. */
export interface Offer {
  readonly agent: string;
  readonly proposal: MonitorProposal;
}

/** Returns proposals for the agents seen last; none once an agent has a monitor. */
export async function readOffers(
  { monitors }: AppDeps,
  team: Team,
  { rows, hasMonitors }: Board,
  zone: string,
): Promise<readonly Offer[]> {
  if (hasMonitors) return [];
  const candidates = rows.filter(({ record }) => !record.archived).slice(0, SEARCHED_MAX);
  const found = await Promise.all(candidates.map(async ({ record: { agent } }) => {
    const proposal = await monitors.proposal(team, agent, zone);
    return proposal === null ? [] : [{ agent, proposal }];
  }));
  return found.flat().slice(0, SHOWN);
}

interface OffersProps {
  readonly offers: readonly Offer[];
  readonly isAdmin: boolean;
}

/** Lists the proposals, each with a button that accepts it. */
export function Offers({ offers, isAdmin }: OffersProps) {
  if (offers.length === 0) return null;
  return (
    <Section id="offers" title="No agent has a monitor">
      {offers.map(({ agent, proposal }) => (
        <Proposal {...proposal} name={<a href={agentPath(agent)}>{agent}</a>}>
          {isAdmin && <CreateButton agent={agent} settings={settingsOf(proposal)} />}
        </Proposal>
      ))}
    </Section>
  );
}
