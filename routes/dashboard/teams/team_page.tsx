/** `/dashboard/teams/{id}`: one team, for the operator. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { NO_SUCH_TEAM } from "../../api/teams/teams.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Done } from "../components/done_notice.tsx";
import { ConfirmForm } from "../components/form_fields.tsx";
import { TeamDetails, TeamPlan } from "./details.tsx";
import { ChangeForm, fieldsOfTeam, type TypedTeam } from "./change_form.tsx";
import { TeamKeyForm, type TypedKey } from "./key_form.tsx";
import { type TeamConfirmation, teamPath } from "./paths.ts";

/** Content of the page in addition to the team. */
interface TeamView {
  readonly now: number;
  readonly confirm?: TeamConfirmation | null;
  /** The reason one of its forms was rejected. */
  readonly problem?: Problem | null;
  /** Submitted fields of the change form, if it was rejected. */
  readonly typed?: TypedTeam;
  /** Submitted fields of the key form, if it was rejected. */
  readonly typedKey?: TypedKey;
}

export function showTeam({ teams, environment }: AppDeps): Handle {
  return async (c) => {
    const team = await teams.get(c.req.param("id") ?? "");
    if (team === null) return fail(c, NO_SUCH_TEAM);
    const { confirm } = c.req.query();
    const form = confirm === "suspend" || confirm === "resume" ? confirm : null;
    return answerTeam(c, team, { now: environment.now(), confirm: form });
  };
}

/** Shows the page of a team with its forms. */
export function answerTeam(
  c: RequestContext,
  team: Team,
  view: TeamView,
  headers: Record<string, string> = {},
): Response {
  const { now, confirm = null, problem = null, typed, typedKey } = view;
  const isSuspended = team.suspendedAt !== undefined;
  const does = isSuspended ? "resume" : "suspend";
  return showPage(c, {
    title: team.name,
    aside: <a href={TEAMS_PATH}>All teams</a>,
    problem,
    body: (
      <>
        <Done c={c} />
        <TeamDetails team={team} now={now} />
        {confirm === does ? <SuspensionForm team={team} does={does} /> : (
          <p>
            <a href={teamPath(team.id, does)}>{isSuspended ? "Resume it" : "Suspend it"}</a>
          </p>
        )}
        <TeamPlan team={team} />
        <ChangeForm
          team={team}
          typed={typed ?? fieldsOfTeam(team)}
          problem={typed === undefined ? null : problem}
        />
        <TeamKeyForm
          team={team}
          typed={typedKey ?? { name: "", scopes: ["ingest", "read", "admin"] }}
          problem={typedKey === undefined ? null : problem}
        />
      </>
    ),
  }, headers);
}

function SuspensionForm({ team, does }: { readonly team: Team; readonly does: TeamConfirmation }) {
  const isSuspend = does === "suspend";
  const verb = isSuspend ? "Suspend" : "Resume";
  return (
    <ConfirmForm
      action={`${TEAMS_PATH}/${team.id}/${does}`}
      title={`${verb} “${team.name}”?`}
      submit={`${verb} the team`}
      submitClass={isSuspend ? "danger" : ""}
      cancel="Leave it as it is"
      cancelTo={teamPath(team.id)}
    >
      <p>
        {isSuspend
          ? "Every call of its keys is refused with 403 until it is resumed, and its agents' runs are " +
            "lost meanwhile. What is stored is kept."
          : "Its keys work again at once."}
      </p>
    </ConfirmForm>
  );
}
