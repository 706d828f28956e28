/** `/dashboard/teams/{id}`: one team, for the operator, and the forms that change it. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { parseKey } from "../../../domain/teams/key_list.ts";
import { parseTeamChange } from "../../../domain/teams/team_change.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { NO_SUCH_TEAM } from "../../api/teams/teams.ts";
import type { View } from "../layout/page.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { Crumbs, Done, SAVED } from "../components/elements.tsx";
import { bodyOf, readTexts, type Texts } from "../components/form_fields.tsx";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { showSecret } from "../keys/secret.tsx";
import { TeamDetails, TeamPlan } from "../plan/team.tsx";
import {
  changeBody,
  ChangeForm,
  type KeyFields,
  TEAM_FIELDS,
  TeamKeyForm,
  textsOfTeam,
} from "./forms.tsx";
import { type TeamConfirmation, teamPath } from "./paths.ts";

/** Content of the page in addition to the team. */
interface TeamView {
  readonly now: number;
  readonly confirm?: string | undefined;
  /** The reason one of its forms was rejected. */
  readonly problem?: Problem;
  /** Submitted fields of the change form, if it was rejected. */
  readonly texts?: Texts;
  /** Submitted fields of the key form, if it was rejected. */
  readonly key?: KeyFields;
}

export const showTeam: Handler = async (c, { teams, environment }) => {
  const team = await readTeam(teams, c);
  if (team === null) return fail(c, NO_SUCH_TEAM);
  const { confirm } = c.req.query();
  return showPage(c, viewOf(c, team, { now: environment.now(), confirm }));
};

/** Changes a team and redirects to its page, or shows the form again. */
export const submitTeamChange: Handler = async (c, { teams, environment }) => {
  const team = await readTeam(teams, c);
  if (team === null) return fail(c, NO_SUCH_TEAM);
  const texts = readTexts(c.get("form"), TEAM_FIELDS);
  const now = environment.now();
  showFormOnProblem(c, (problem) => viewOf(c, team, { now, problem, texts }));
  const change = parseTeamChange(bodyOf(changeBody(team, texts)));
  if (!change.ok) return fail(c, change.problem);
  const changed = await teams.change(team.id, change.value);
  if (changed === null) return fail(c, NO_SUCH_TEAM);
  return changed.ok ? seeOther(teamPath(team.id) + SAVED) : fail(c, changed.problem);
};

/** Suspends or resumes a team. */
export async function submitSuspension(
  c: RequestContext,
  { teams }: AppDeps,
  suspended: boolean,
): Promise<Response> {
  const change = { name: undefined, tier: undefined, suspended };
  const changed = await teams.change(c.req.param("id") ?? "", change);
  if (changed === null) return fail(c, NO_SUCH_TEAM);
  return changed.ok ? seeOther(teamPath(changed.value.id)) : fail(c, changed.problem);
}

/** Creates a key for a team and shows its secret, or the form again. */
export const submitTeamKey: Handler = async (c, { teams, credentials, environment }) => {
  const team = await readTeam(teams, c);
  if (team === null) return fail(c, NO_SUCH_TEAM);
  const form = c.get("form");
  const key = { name: form.get("key_name") ?? "", scopes: form.getAll("scopes") };
  const now = environment.now();
  showFormOnProblem(c, (problem) => viewOf(c, team, { now, problem, key }));
  const spec = parseKey(bodyOf({ kind: "api_key", ...key }));
  if (!spec.ok) return fail(c, spec.problem);
  const created = await credentials.create(team, spec.value, c.get("principal").credentialId);
  return showSecret(c, created, {
    title: `Key created for ${team.name}`,
    next: [teamPath(team.id), "to the team"],
  });
};

/** Redirects a reload of a secret's page to its team, because a secret is shown once. */
export const backToTeam: Handler = (c) => {
  return seeOther(teamPath(c.req.param("id") ?? ""));
};

function readTeam(teams: AppDeps["teams"], c: RequestContext): Promise<Team | null> {
  return teams.get(c.req.param("id") ?? "");
}

function viewOf(c: RequestContext, team: Team, view: TeamView): View {
  const { now, confirm, problem = null, texts, key } = view;
  const isSuspended = team.suspendedAt !== undefined;
  const does = isSuspended ? "resume" : "suspend";
  return {
    title: team.name,
    crumbs: <Crumbs links={[["Teams", TEAMS_PATH]]} />,
    body: (
      <>
        <Done c={c} />
        <TeamDetails team={team} now={now} />
        {confirm === does ? <SuspensionForm team={team} does={does} /> : (
          <p>
            <a class="btn" href={teamPath(team.id, does)}>
              {isSuspended ? "Resume team" : "Suspend team"}
            </a>
          </p>
        )}
        <TeamPlan team={team} />
        <ChangeForm
          team={team}
          texts={texts ?? textsOfTeam(team)}
          problem={texts === undefined ? null : problem}
        />
        <TeamKeyForm
          team={team}
          {...key ?? { name: "", scopes: ["ingest", "read", "admin"] }}
          problem={key === undefined ? null : problem}
        />
      </>
    ),
  };
}

function SuspensionForm({ team, does }: { readonly team: Team; readonly does: TeamConfirmation }) {
  const isSuspend = does === "suspend";
  const verb = isSuspend ? "Suspend" : "Resume";
  return (
    <ConfirmForm
      action={`${TEAMS_PATH}/${team.id}/${does}`}
      title={`${verb} “${team.name}”?`}
      submit={`${verb} the team`}
      submitClass={isSuspend ? "btn danger" : "btn main"}
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
