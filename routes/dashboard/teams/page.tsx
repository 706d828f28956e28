/** `/dashboard/teams`: all teams, for the operator. */
import { parsePage } from "../../../domain/core/page.ts";
import type { TeamPage } from "../../../domain/teams/team_change.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { teamIdOf } from "../../api/teams/teams.ts";
import { queryText, TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, Empty, NextPage, Wide } from "../components/elements.tsx";
import { Served } from "./details.tsx";
import { teamPath } from "./paths.ts";

/** Shows a page of the list. */
export function showTeams({ teams, environment }: AppDeps): Handle {
  return async (c) => {
    const query = parsePage(queryOf(c), teamIdOf);
    if (!query.ok) return fail(c, query.problem);
    const page = await teams.page(query.value);
    const { limit, sent } = query.value;
    const more = page.next === null ? null : TEAMS_PATH + queryText([
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
                <p>Make one: its first key comes with it.</p>
              </Empty>
            )
            : <TeamTable page={page} now={environment.now()} />}
          <NextPage to={more} />
        </>
      ),
    });
  };
}

interface Listed {
  readonly page: TeamPage;
  readonly now: number;
}

function TeamTable({ page: { teams }, now }: Listed) {
  return (
    <Wide label="Teams">
      <table class="roomy folding">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Plan</th>
            <th scope="col">State</th>
            <th scope="col">Owner</th>
            <th scope="col">Since</th>
            <th scope="col">Id</th>
          </tr>
        </thead>
        <tbody>
          {teams.map((team) => (
            <tr>
              <th scope="row">
                <a href={teamPath(team.id)}>{team.name}</a>
              </th>
              <td>{team.tier}{team.rate || team.limits ? ", own limits" : ""}</td>
              <td>
                <Served team={team} now={now} />
              </td>
              <td data-before="owner">{team.ownerEmail ?? "–"}</td>
              <td data-before="since">
                {team.createdAt === undefined ? "–" : <Ago at={team.createdAt} now={now} />}
              </td>
              <td>
                <code>{team.id}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
