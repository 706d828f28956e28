/** Teams that a test stores itself. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Rate, Tier } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { keys, newTeamId } from "../../../kv/base/keys.ts";
import { getValue, type Store } from "../../../kv/store.ts";

export async function insertTeam(store: Store, tier: Tier, name = "team"): Promise<Team> {
  const team: Team = { id: newTeamId(), name, tier };
  await store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value: team }] });
  return team;
}

/** Sets a team's own request rate; `null` restores the rate of its plan (decision 36). */
export async function setTeamRate(store: Store, id: TeamId, rate: Rate | null): Promise<void> {
  const { rate: _, ...rest } = await getValue<Team>(store, keys.team(id)) as Team;
  const team: Team = rate === null ? rest : { ...rest, rate };
  await store.writer.commit({ team: id, sets: [{ key: keys.team(id), value: team }] });
}
