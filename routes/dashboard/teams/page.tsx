/** `/dashboard/teams`: all teams, for the operator, and the form for a new one. */
import { parsePage } from "../../../domain/core/query.ts";
import { orRefuse, type Problem } from "../../../domain/core/errors.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { parseNewTeam } from "../../../domain/teams/team_change.ts";
import { OPERATOR_ONLY } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { encodeCursor, queryOf } from "../../http/query.ts";
import { teamIdOf } from "../../api/teams/teams.ts";
import {
  type DashboardPage,
  get,
  post,
  showFormOnProblem,
  showPage,
  type View,
} from "../layout/page.tsx";
import { teamPath, TEAMS_PATH } from "../layout/paths.ts";
import { At, Crumbs } from "../components/elements.tsx";
import { type Column, column, listPage, nameColumn, nextPath } from "../components/table.tsx";
import { bodyOf, readTexts, type Texts } from "../components/form_fields.tsx";
import { showSecret } from "../keys/key_page.tsx";
import { teamState } from "../plan/team.tsx";
import { NEW_TEAM_FIELDS, newTeamFields, teamRoutes } from "./team_page.tsx";

const showTeams: Handler = async (c, { teams }) => {
  const query = orRefuse(parsePage(queryOf(c), teamIdOf));
  const page = await teams.page(query);
  const limit = c.req.query("limit") ?? null;
  const view = listPage({
    title: "Teams",
    aside: <a class="btn main" href={`${TEAMS_PATH}/new`}>New team</a>,
    table: { label: "Teams", class: "fold", columns: COLUMNS, rows: page.teams },
    empty: ["No team here", "Create one: its first key comes with it."],
    next: nextPath(TEAMS_PATH, { limit }, page.next && encodeCursor(page.next)),
  });
  return showPage(c, view);
};

const COLUMNS: readonly Column<Team>[] = [
  nameColumn("Name", ({ id, name }) => <a class="row" href={teamPath(id)}>{name}</a>),
  { head: "Plan", cell: ({ tier, rate, limits }) => rate || limits ? `${tier}, own limits` : tier },
  { head: "State", cell: teamState },
  { head: "Owner", before: "owner", cell: ({ ownerEmail }) => ownerEmail ?? "–" },
  column(
    "Created",
    { before: "created" },
    ({ createdAt }) => createdAt === undefined ? "–" : <At at={createdAt} />,
  ),
  { head: "Id", cell: ({ id }) => <code>{id}</code> },
];

const showNewTeam: Handler = (c) => showPage(c, newTeamView({ tier: TIER_NAMES[0] }, null));

/** Creates a team and shows the secret of its first key, or the form again. */
const submitNewTeam: Handler = async (c, { teams }) => {
  const texts = readTexts(c.get("form"), NEW_TEAM_FIELDS);
  showFormOnProblem(c, (problem) => newTeamView(texts, problem));
  const spec = orRefuse(parseNewTeam(bodyOf({ ...texts, owner_email: texts.owner_email || null })));
  const { team, ...created } = await teams.create(spec);
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
        {newTeamFields(texts, problem)}
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
  routes: [post(TEAMS_PATH, submitNewTeam), get(`${TEAMS_PATH}/new`, showNewTeam), ...teamRoutes],
};
