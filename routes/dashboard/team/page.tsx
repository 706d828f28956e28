/** `/dashboard/team`: the team of the session. */
import type { AppDeps, Handle } from "../../http/context.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { keyPath } from "../keys/paths.ts";
import type { DashboardPage } from "../layout/page.ts";
import { TEAM_PATH, USAGE_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { TeamDetails, TeamPlan } from "../teams/details.tsx";

export const teamPage: DashboardPage = {
  path: TEAM_PATH,
  menu: "Team",
  access: teamKey("read"),
  handler: showOwnTeam,
};

function showOwnTeam({ environment, region }: AppDeps): Handle {
  return (c) => {
    const principal = c.get("principal");
    const { team, credentialId } = principal;
    const id = <code>{credentialId}</code>;
    const key = mayAdmin(principal) ? <a href={keyPath(credentialId)}>{id}</a> : id;
    return showPage(c, {
      title: `Team ${team.name}`,
      body: (
        <>
          <TeamDetails
            team={team}
            now={environment.now()}
            more={[["Region", region], ["Your key", key]]}
          />
          <TeamPlan team={team} />
          <p>
            <a href={USAGE_PATH}>How much of it is used</a>
          </p>
          <p class="soft">
            Name, plan, owner and limits are changed by the operator of this service: ask them.
          </p>
        </>
      ),
    });
  };
}
