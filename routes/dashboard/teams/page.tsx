/** `/dashboard/teams`: all teams, for the operator. */
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { parsePage } from "../../../domain/core/query.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { parseNewTeam } from "../../../domain/teams/team_change.ts";
import { OPERATOR_ONLY } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import { encodeCursor, queryOf } from "../../http/query.ts";
import { teamIdOf } from "../../api/teams/teams.ts";
import { type DashboardPage, get, post, type View } from "../layout/page.ts";
import { queryText, TEAMS_PATH } from "../layout/paths.ts";
import { showFormOnProblem, showPage } from "../layout/reply.tsx";
import { Crumbs, Empty } from "../components/elements.tsx";
import { NextPage } from "../components/list_page.tsx";
import { At } from "../components/time.tsx";
import { bodyOf, type Texts } from "../components/form_fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import { showSecret } from "../keys/secret.tsx";
import { TeamState } from "../plan/team.tsx";
import { TeamFields } from "./forms.tsx";
import { teamPath } from "./paths.ts";
import {
  backToTeam,
  showTeam,
  submitSuspension,
  submitTeamChange,
  submitTeamKey,
} from "./team_page.tsx";

const showTeams: Handler = async (c, { teams, environment }) => {
  const query = parsePage(queryOf(c), teamIdOf);
  if (!query.ok) return fail(c, query.problem);
  const page = await teams.page(query.value);
  const { limit } = query.value;
  const nextPath = page.next === null ? null : TEAMS_PATH + queryText([
    ["limit", limit === ADMIN_PER_PAGE.default ? null : limit],
    ["cursor", encodeCursor(page.next)],
  ]);
  return showPage(c, {
    title: "Teams",
    aside: <a class="btn main" href={`${TEAMS_PATH}/new`}>New team</a>,
    body: (
      <>
        {page.teams.length === 0
          ? (
            <Empty title="No team here">
              <p>Create one: its first key comes with it.</p>
            </Empty>
          )
          : (
            <Table
              label="Teams"
              class="fold"
              columns={columnsAt(environment.now())}
              rows={page.teams}
            />
          )}
        <NextPage to={nextPath} />
      </>
    ),
  });
};

function columnsAt(now: number): readonly Column<Team>[] {
  return [
    {
      head: "Name",
      isName: true,
      cell: ({ id, name }) => <a class="row" href={teamPath(id)}>{name}</a>,
    },
    {
      head: "Plan",
      cell: ({ tier, rate, limits }) => rate || limits ? `${tier}, own limits` : tier,
    },
    { head: "State", cell: (team) => <TeamState team={team} now={now} /> },
    { head: "Owner", before: "owner", cell: ({ ownerEmail }) => ownerEmail ?? "–" },
    {
      head: "Created",
      before: "created",
      cell: ({ createdAt }) => createdAt === undefined ? "–" : <At at={createdAt} />,
    },
    { head: "Id", cell: ({ id }) => <code>{id}</code> },
  ];
}

const showNewTeam: Handler = (c) => {
  return showPage(c, newTeamView({ tier: TIER_NAMES[0] }, null));
};

/** Creates a team and shows the secret of its first key, or the form again. */
const submitNewTeam: Handler = async (c, { teams }) => {
  const form = c.get("form");
  const owner_email = (form.get("owner_email") ?? "").trim();
  const fields = { name: form.get("name") ?? "", tier: form.get("tier") ?? "" };
  showFormOnProblem(c, (problem) => newTeamView({ ...fields, owner_email }, problem));
  const spec = parseNewTeam(bodyOf({ ...fields, owner_email: owner_email || null }));
  if (!spec.ok) return fail(c, spec.problem);
  const { team, ...created } = await teams.create(spec.value);
  return showSecret(c, created, {
    title: `Team created: ${team.name}`,
    next: [teamPath(team.id), "to the team"],
  });
};

function newTeamView(texts: Texts, problem: Problem | null): View {
  return {
    title: "New team",
    crumbs: <Crumbs links={[["Teams", TEAMS_PATH]]} />,
    body: (
      <form class="narrow" method="post" action={TEAMS_PATH}>
        <TeamFields texts={texts} problem={problem} />
        <button type="submit" class="btn main">Create team</button>
      </form>
    ),
  };
}

/** The list of teams, the page of each, and the forms that change them. */
export const teamsPage: DashboardPage = {
  path: TEAMS_PATH,
  menu: { name: "Teams", area: "settings" },
  access: OPERATOR_ONLY,
  handler: showTeams,
  routes: [
    post(TEAMS_PATH, submitNewTeam),
    get(`${TEAMS_PATH}/new`, showNewTeam),
    get(`${TEAMS_PATH}/:id`, showTeam),
    post(`${TEAMS_PATH}/:id`, submitTeamChange),
    post(`${TEAMS_PATH}/:id/suspend`, (c, deps) => submitSuspension(c, deps, true)),
    post(`${TEAMS_PATH}/:id/resume`, (c, deps) => submitSuspension(c, deps, false)),
    post(`${TEAMS_PATH}/:id/keys`, submitTeamKey),
    get(`${TEAMS_PATH}/:id/keys`, backToTeam),
  ],
};
