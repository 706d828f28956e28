/** `/dashboard/teams/new`: creates a team, for the operator. */
import type { Problem } from "../../../domain/core/errors.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import { parseNewTeam } from "../../../domain/teams/team_change.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { showSecret } from "../keys/secret.tsx";
import { bodyOf } from "../components/form_fields.tsx";
import { backToTeamLink } from "./submit.tsx";
import { TeamFields } from "./change_form.tsx";

interface NewTeamFields {
  readonly name: string;
  readonly tier: string;
  readonly owner_email: string;
}

export function showNewTeam(): Handle {
  return (c) => showForm(c, { name: "", tier: TIER_NAMES[0], owner_email: "" }, null);
}

/** Creates a team and shows the secret of its first key, or the form again. */
export function submitNewTeam({ teams }: AppDeps): Handle {
  return async (c) => {
    const form = c.get("form");
    const typed: NewTeamFields = {
      name: form.get("name") ?? "",
      tier: form.get("tier") ?? "",
      owner_email: (form.get("owner_email") ?? "").trim(),
    };
    c.set("renderProblem", (c, problem, headers) => showForm(c, typed, problem, headers));
    const { owner_email } = typed;
    const spec = parseNewTeam(
      bodyOf({ ...typed, owner_email: owner_email === "" ? null : owner_email }),
    );
    if (!spec.ok) return fail(c, spec.problem);
    const { team, ...created } = await teams.create(spec.value);
    return showSecret(c, created, {
      title: `Team created: ${team.name}`,
      next: backToTeamLink(team.id),
    });
  };
}

function showForm(
  c: RequestContext,
  typed: NewTeamFields,
  problem: Problem | null,
  headers: Record<string, string> = {},
): Response {
  return showPage(c, {
    title: "New team",
    aside: <a href={TEAMS_PATH}>All teams</a>,
    problem,
    body: (
      <form class="narrow" method="post" action={TEAMS_PATH}>
        <TeamFields typed={{ ...typed }} problem={problem} />
        <button type="submit">Create team</button>
      </form>
    ),
  }, headers);
}
