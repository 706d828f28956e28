/** `/dashboard/team`: the reader's own team. */
import type { AppDeps, Handle } from "../../context.ts";
import { DASHBOARD } from "../frame/paths.ts";
import { showPage } from "../frame/reply.tsx";
import { PlanFacts, TeamFacts } from "./facts.tsx";

/** Shows the team of who signed in. */
export function showOwnTeam({ environment, region }: AppDeps): Handle {
  return (c) => {
    const { team, credentialId } = c.get("principal");
    return showPage(c, {
      title: team.name,
      body: (
        <>
          <TeamFacts team={team} now={environment.now()}>
            <dt>Region</dt>
            <dd>{region}</dd>
            <dt>You are here by</dt>
            <dd>
              key <code>{credentialId}</code>
            </dd>
          </TeamFacts>
          <PlanFacts team={team} />
          <p>
            <a href={`${DASHBOARD}/usage`}>How much of it is used</a>
          </p>
          <p class="soft">
            Name, plan, owner and limits are changed by the operator of this service: ask them.
          </p>
        </>
      ),
    });
  };
}
