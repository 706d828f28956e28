/** `/v1/teams`: what the operator of the service does with teams. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { parsePage } from "../../../domain/core/page.ts";
import {
  isTeamId,
  parseNewTeam,
  parseTeamChange,
  teamFields,
} from "../../../domain/teams/team_change.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { answerNewKey, answerSecret, newKeyFields } from "../keys/keys.ts";
import { queryOf } from "../../http/query.ts";

export function handleCreateTeam({ teams }: AppDeps): Handle {
  return async (c) => {
    const spec = parseNewTeam(c.get("body"));
    if (!spec.ok) return fail(c, spec.problem);
    const { team, ...key } = await teams.create(spec.value);
    return answerSecret(c, rawOf({ ...teamFields(team), key: newKeyFields(key) }));
  };
}

export function listTeams({ teams }: AppDeps): Handle {
  return async (c) => {
    const query = parsePage(queryOf(c), teamIdOf);
    if (!query.ok) return fail(c, query.problem);
    const page = await teams.page(query.value);
    const cursor = page.next === null ? null : encodeCursor(page.next);
    return answer(c, 200, rawOf({ teams: page.teams.map(teamFields), cursor }));
  };
}

export function getTeam({ teams }: AppDeps): Handle {
  return async (c) => {
    const team = await teams.get(c.req.param("id") ?? "");
    return team === null ? fail(c, NO_SUCH_TEAM) : answer(c, 200, rawOf(teamFields(team)));
  };
}

export function handleChangeTeam({ teams }: AppDeps): Handle {
  return async (c) => {
    const change = parseTeamChange(c.get("body"));
    if (!change.ok) return fail(c, change.problem);
    const changed = await teams.change(c.req.param("id") ?? "", change.value);
    if (changed === null) return fail(c, NO_SUCH_TEAM);
    if (!changed.ok) return fail(c, changed.problem);
    return answer(c, 200, rawOf(teamFields(changed.value)));
  };
}

export function createTeamKey(deps: AppDeps): Handle {
  return async (c) => {
    const team = await deps.teams.get(c.req.param("id") ?? "");
    return team === null ? fail(c, NO_SUCH_TEAM) : answerNewKey(deps, c, team);
  };
}

/** The place that a cursor of the list stands for, or null. */
export function teamIdOf(cursor: string): TeamId | null {
  const id = decodeCursor(cursor);
  return id !== null && isTeamId(id) ? id : null;
}

/** Says that an id names no team. */
export const NO_SUCH_TEAM: Problem = {
  code: "not_found",
  message: "No such team: list them to see ids",
};
