/** Operator forms that change a team. */
import type { Team } from "../../../domain/teams/team.ts";
import { parseKey } from "../../../domain/teams/new_key.ts";
import { parseTeamChange } from "../../../domain/teams/team_change.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { NO_SUCH_TEAM } from "../../api/teams/teams.ts";
import { seeOther } from "../layout/reply.tsx";
import { showSecret } from "../keys/secret.tsx";
import { SAVED } from "../components/done_notice.tsx";
import { bodyOf } from "../components/form_fields.tsx";
import { changeBody, readTeamFields } from "./change_form.tsx";
import { answerTeam } from "./team_page.tsx";
import { teamPath } from "./paths.ts";

/** Changes a team and redirects to its page, or shows the form again. */
export function submitTeamChange({ teams, environment }: AppDeps): Handle {
  return async (c) => {
    const team = await readTeam(teams, c);
    if (team === null) return fail(c, NO_SUCH_TEAM);
    const typed = readTeamFields(c.get("form"));
    const now = environment.now();
    c.set(
      "renderProblem",
      (c, problem, headers) => answerTeam(c, team, { now, problem, typed }, headers),
    );
    const change = parseTeamChange(bodyOf(changeBody(team, typed)));
    if (!change.ok) return fail(c, change.problem);
    const changed = await teams.change(team.id, change.value);
    if (changed === null) return fail(c, NO_SUCH_TEAM);
    return changed.ok ? seeOther(teamPath(team.id) + SAVED) : fail(c, changed.problem);
  };
}

/** Suspends or resumes a team. */
export function submitSuspension({ teams }: AppDeps, suspended: boolean): Handle {
  return async (c) => {
    const change = parseTeamChange(bodyOf({ suspended }));
    if (!change.ok) return fail(c, change.problem);
    const changed = await teams.change(c.req.param("id") ?? "", change.value);
    if (changed === null) return fail(c, NO_SUCH_TEAM);
    return changed.ok ? seeOther(teamPath(changed.value.id)) : fail(c, changed.problem);
  };
}

/** Creates a key for a team and shows its secret, or the form again. */
export function submitTeamKey({ teams, credentials, environment }: AppDeps): Handle {
  return async (c) => {
    const team = await readTeam(teams, c);
    if (team === null) return fail(c, NO_SUCH_TEAM);
    const form = c.get("form");
    const typedKey = { name: form.get("key_name") ?? "", scopes: form.getAll("scopes") };
    const now = environment.now();
    c.set(
      "renderProblem",
      (c, problem, headers) => answerTeam(c, team, { now, problem, typedKey }, headers),
    );
    const spec = parseKey(bodyOf({ kind: "api_key", ...typedKey }));
    if (!spec.ok) return fail(c, spec.problem);
    const created = await credentials.create(team, spec.value, c.get("principal").credentialId);
    return showSecret(c, created, {
      title: `Key created for ${team.name}`,
      next: backToTeamLink(team.id),
    });
  };
}

/** Links to the team from the page of a secret. */
export function backToTeamLink(id: string) {
  return (
    <>
      I have copied it: <a href={teamPath(id)}>to the team</a>
    </>
  );
}

/** Redirects a reload of a secret's page to its team, because a secret is shown once. */
export function backToTeam(): Handle {
  return (c) => seeOther(teamPath(c.req.param("id") ?? ""));
}

function readTeam(teams: AppDeps["teams"], c: RequestContext): Promise<Team | null> {
  return teams.get(c.req.param("id") ?? "");
}
