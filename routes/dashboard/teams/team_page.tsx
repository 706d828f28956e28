/** `/dashboard/teams/{id}`: one team, for the operator. */
import type { Team } from "../../../domain/teams/team.ts";
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { NO_SUCH_TEAM } from "../../api/teams/teams.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Done } from "../components/done_notice.tsx";
import { TeamDetails, TeamPlan } from "./details.tsx";
import { ChangeForm, type Typed, typedOf } from "./change_form.tsx";
import { TeamKeyForm, type TypedKey } from "./key_form.tsx";
import { type TeamConfirmation, teamPath } from "./paths.ts";

/** What the page shows besides the team. */
export interface Filled {
  readonly now: number;
  readonly confirm?: TeamConfirmation | null;
  /** Why one of its forms was refused. */
  readonly problem?: Problem | null;
  /** What was typed into the form for changes, where that was refused. */
  readonly typed?: Typed;
  /** What was typed into the form for a key, where that was refused. */
  readonly typedKey?: TypedKey;
}

/** Shows one team. */
export function showTeam({ teams, environment }: AppDeps): Handle {
  return async (c) => {
    const team = await teams.get(c.req.param("id") ?? "");
    if (team === null) return fail(c, NO_SUCH_TEAM);
    const { confirm } = c.req.query();
    const asked = confirm === "suspend" || confirm === "resume" ? confirm : null;
    return answerTeam(c, team, { now: environment.now(), confirm: asked });
  };
}

/** Answers with the page of a team and its forms. */
export function answerTeam(
  c: RequestContext,
  team: Team,
  filled: Filled,
  headers: Record<string, string> = {},
): Response {
  const { now, confirm = null, problem = null, typed, typedKey } = filled;
  const isSuspended = team.suspendedAt !== undefined;
  const does = isSuspended ? "resume" : "suspend";
  return showPage(c, {
    title: team.name,
    aside: <a href={TEAMS_PATH}>All teams</a>,
    status: problem === null ? 200 : ERRORS[problem.code].status,
    body: (
      <>
        <Done c={c} />
        <TeamDetails team={team} now={now} />
        {confirm === does ? <ServeForm team={team} does={does} /> : (
          <p>
            <a href={teamPath(team.id, does)}>{isSuspended ? "Resume it" : "Suspend it"}</a>
          </p>
        )}
        <TeamPlan team={team} />
        <ChangeForm
          team={team}
          typed={typed ?? typedOf(team)}
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

function ServeForm({ team, does }: { readonly team: Team; readonly does: TeamConfirmation }) {
  const isEnd = does === "suspend";
  return (
    <form class="confirm" method="post" action={`${TEAMS_PATH}/${team.id}/${does}`}>
      <h2>{isEnd ? "Suspend" : "Resume"} “{team.name}”?</h2>
      <p>
        {isEnd
          ? "Every call of its keys is refused with 403 until it is resumed, and its agents' runs are " +
            "lost meanwhile. What is stored is kept."
          : "Its keys work again at once."}
      </p>
      <div class="buttons">
        <button type="submit" class={isEnd ? "danger" : ""}>
          {isEnd ? "Suspend the team" : "Resume the team"}
        </button>
        <a href={teamPath(team.id)} role="button" class="secondary outline">Leave it as it is</a>
      </div>
    </form>
  );
}
