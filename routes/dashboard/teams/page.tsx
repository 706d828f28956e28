/** `/dashboard/teams`: all teams, for the operator. */
import { parsePage } from "../../../domain/core/page.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { OPERATOR_ONLY } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { teamIdOf } from "../../api/teams/teams.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { queryText, TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, Empty, NextPage } from "../components/elements.tsx";
import { type Column, Table } from "../components/table.tsx";
import { TeamState } from "./details.tsx";
import { showNewTeam, submitNewTeam } from "./new_team_page.tsx";
import { teamPath } from "./paths.ts";
import { backToTeam, submitSuspension, submitTeamChange, submitTeamKey } from "./submit.tsx";
import { showTeam } from "./team_page.tsx";

/** The list of teams, the page of each, and the forms that change them. */
export const teamsPage: DashboardPage = {
  path: TEAMS_PATH,
  menu: "Teams",
  access: OPERATOR_ONLY,
  handler: showTeams,
  routes: [
    post(TEAMS_PATH, submitNewTeam),
    get(`${TEAMS_PATH}/new`, showNewTeam),
    get(`${TEAMS_PATH}/:id`, showTeam),
    post(`${TEAMS_PATH}/:id`, submitTeamChange),
    post(`${TEAMS_PATH}/:id/suspend`, (deps) => submitSuspension(deps, true)),
    post(`${TEAMS_PATH}/:id/resume`, (deps) => submitSuspension(deps, false)),
    post(`${TEAMS_PATH}/:id/keys`, submitTeamKey),
    get(`${TEAMS_PATH}/:id/keys`, backToTeam),
  ],
};

function showTeams({ teams, environment }: AppDeps): Handle {
  return async (c) => {
    const query = parsePage(queryOf(c), teamIdOf);
    if (!query.ok) return fail(c, query.problem);
    const page = await teams.page(query.value);
    const { limit, sent } = query.value;
    const nextPath = page.next === null ? null : TEAMS_PATH + queryText([
      ["limit", sent.has("limit") ? limit : null],
      ["cursor", encodeCursor(page.next)],
    ]);
    return showPage(c, {
      title: "Teams",
      aside: <a role="button" class="small" href={`${TEAMS_PATH}/new`}>New team</a>,
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
                class="roomy folding"
                columns={columnsAt(environment.now())}
                rows={page.teams}
              />
            )}
          <NextPage to={nextPath} />
        </>
      ),
    });
  };
}

function columnsAt(now: number): readonly Column<Team>[] {
  return [
    { head: "Name", isName: true, cell: ({ id, name }) => <a href={teamPath(id)}>{name}</a> },
    {
      head: "Plan",
      cell: ({ tier, rate, limits }) => rate || limits ? `${tier}, own limits` : tier,
    },
    { head: "State", cell: (team) => <TeamState team={team} now={now} /> },
    { head: "Owner", before: "owner", cell: ({ ownerEmail }) => ownerEmail ?? "–" },
    {
      head: "Since",
      before: "since",
      cell: ({ createdAt }) => createdAt === undefined ? "–" : <Ago at={createdAt} now={now} />,
    },
    { head: "Id", cell: ({ id }) => <code>{id}</code> },
  ];
}
