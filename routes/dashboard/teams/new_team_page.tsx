/** `/dashboard/teams/new`: creates a team, for the operator. */
import type { Problem } from "../../../domain/core/errors.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import { parseNewTeam } from "../../../domain/teams/team_change.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import type { View } from "../layout/page.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { bodyOf } from "../components/form_fields.tsx";
import { showFormOnProblem } from "../components/form_page.ts";
import type { Texts } from "../components/texts.ts";
import { showSecret } from "../keys/secret.tsx";
import { TeamFields } from "./forms.tsx";
import { TeamLink } from "./team_page.tsx";

export function showNewTeam(): Handle {
  return (c) => showPage(c, viewOf({ tier: TIER_NAMES[0] }, null));
}

/** Creates a team and shows the secret of its first key, or the form again. */
export function submitNewTeam({ teams }: AppDeps): Handle {
  return async (c) => {
    const form = c.get("form");
    const owner_email = (form.get("owner_email") ?? "").trim();
    const fields = { name: form.get("name") ?? "", tier: form.get("tier") ?? "" };
    showFormOnProblem(c, (problem) => viewOf({ ...fields, owner_email }, problem));
    const spec = parseNewTeam(bodyOf({ ...fields, owner_email: owner_email || null }));
    if (!spec.ok) return fail(c, spec.problem);
    const { team, ...created } = await teams.create(spec.value);
    return showSecret(c, created, {
      title: `Team created: ${team.name}`,
      next: <TeamLink of={team} />,
    });
  };
}

function viewOf(texts: Texts, problem: Problem | null): View {
  return {
    title: "New team",
    aside: <a href={TEAMS_PATH}>All teams</a>,
    body: (
      <form class="narrow" method="post" action={TEAMS_PATH}>
        <TeamFields texts={texts} problem={problem} />
        <button type="submit">Create team</button>
      </form>
    ),
  };
}
