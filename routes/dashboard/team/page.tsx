/** `/dashboard/team`: the reader's own team. */
import type { AppDeps, Handle } from "../../http/context.ts";
import { USAGE_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { mayAdmin } from "../../http/access.ts";
import { keyPath } from "../keys/paths.ts";
import { TeamDetails, TeamPlan } from "../teams/details.tsx";

/** Shows the team of who signed in. */
export function showOwnTeam({ environment, region }: AppDeps): Handle {
  return (c) => {
    const { team, credentialId } = c.get("principal");
    const id = <code>{credentialId}</code>;
    return showPage(c, {
      title: `Team ${team.name}`,
      body: (
        <>
          <TeamDetails team={team} now={environment.now()}>
            <dt>Region</dt>
            <dd>{region}</dd>
            <dt>Your key</dt>
            <dd>{mayAdmin(c.get("principal")) ? <a href={keyPath(credentialId)}>{id}</a> : id}</dd>
          </TeamDetails>
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
