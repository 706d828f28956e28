/** `/v1/teams`: what the operator of the service does with teams. */
import type { Handler } from "../../http/admission.ts";
import { OPERATOR_ONLY } from "../../http/access.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { notFound } from "../../../domain/core/errors.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { parsePage } from "../../../domain/core/page.ts";
import {
  isTeamId,
  newTeamBody,
  parseNewTeam,
  parseTeamChange,
  teamChangeBody,
  teamFields,
} from "../../../domain/teams/team_change.ts";
import { answer, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { answerNewKey, answerSecret, newKeyFields } from "../keys/keys.ts";
import { queryOf } from "../../http/query.ts";
import { z } from "zod";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import { bodyDescription, created, endpoints, ok } from "../../openapi/describe.ts";
import { cursorOf, instantField, jobId, limitOf, nextCursor } from "../../openapi/fields.ts";
import { newCredentialBody, newKey } from "../keys/keys.ts";

const createTeam: Handler = async (c, { teams }) => {
  const spec = parseNewTeam(c.get("body"));
  if (!spec.ok) return fail(c, spec.problem);
  const { team, ...key } = await teams.create(spec.value);
  return answerSecret(c, rawOf({ ...teamFields(team), key: newKeyFields(key) }));
};

const listTeams: Handler = async (c, { teams }) => {
  const query = parsePage(queryOf(c), teamIdOf);
  if (!query.ok) return fail(c, query.problem);
  const page = await teams.page(query.value);
  const cursor = page.next === null ? null : encodeCursor(page.next);
  return answer(c, 200, rawOf({ teams: page.teams.map(teamFields), cursor }));
};

const getTeam: Handler = async (c, { teams }) => {
  const team = await teams.get(c.req.param("id") ?? "");
  return team === null ? fail(c, NO_SUCH_TEAM) : answer(c, 200, rawOf(teamFields(team)));
};

export const changeTeam: Handler = async (c, { teams }) => {
  const change = parseTeamChange(c.get("body"));
  if (!change.ok) return fail(c, change.problem);
  const changed = await teams.change(c.req.param("id") ?? "", change.value);
  if (changed === null) return fail(c, NO_SUCH_TEAM);
  if (!changed.ok) return fail(c, changed.problem);
  return answer(c, 200, rawOf(teamFields(changed.value)));
};

const createTeamKey: Handler = async (c, deps) => {
  const team = await deps.teams.get(c.req.param("id") ?? "");
  return team === null ? fail(c, NO_SUCH_TEAM) : answerNewKey(deps, c, team);
};

/** The place that a cursor of the list stands for, or null. */
export function teamIdOf(cursor: string): TeamId | null {
  const id = decodeCursor(cursor);
  return id !== null && isTeamId(id) ? id : null;
}

/** Says that an id names no team. */
export const NO_SUCH_TEAM = notFound("No such team: list them to see ids");

const limit = z.number().meta({ type: "integer", minimum: 1 }).nullable();

const rate = z.object({ sustained: z.number(), burst: z.number() }).meta({ id: "TeamRate" });

const limits = z.object({
  events_per_month: limit,
  metadata_keys_max: limit,
  agents_max: limit,
  payload_days: limit,
  record_days: limit,
}).meta({ id: "TeamLimits" });

const fields = {
  id: jobId.describe("Chance alone: it says nothing about another team's."),
  name: z.string(),
  tier: z.enum(TIER_NAMES),
  owner_email: z.string().nullable(),
  rate: rate.nullable().describe("Null: the plan's."),
  limits: limits.nullable().describe("Null: the plan's; null inside: none."),
  suspended: z.boolean(),
  suspended_at: instantField.nullable(),
  created_at: instantField.nullable().describe("Null for teams of before this was kept."),
};

const team = z.object(fields).meta({ id: "Team" });
const newTeam = z.object({ ...fields, key: newKey }).meta({ id: "NewTeam" });

const TEAM = {
  id: "7C1DPAT0M5R8VQ2E9GZ4KX3HWN",
  name: "Acme",
  tier: "team",
  owner_email: "owner@example.com",
  rate: null,
  limits: null,
  suspended: false,
  suspended_at: null,
  created_at: "2026-11-21T12:00:00.000Z",
};

const KEY = {
  id: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0006",
  kind: "api_key",
  name: "first key",
  scopes: ["ingest", "read", "admin"],
  created_at: "2026-11-21T12:00:00.000Z",
  revoked_at: null,
  ends_at: null,
  replaced_by: null,
  replaces: null,
  secret: "apk_eu_2e8a47f3b5d09c7e1a2f4d686b1f0c9d",
};

const pathFields = { id: jobId.describe("The team's id.") };
const page = { limit: limitOf(ADMIN_PER_PAGE, "Teams"), cursor: cursorOf("cursor") };
const SECRET_ONCE = "Created; the secret is shown this once.";

/** Teams, for the operator. */
export const TEAM_ENDPOINTS = endpoints("Teams", [
  {
    method: "POST",
    path: "/v1/teams",
    access: OPERATOR_ONLY,
    handler: createTeam,
    id: "createTeam",
    summary: "Create a team",
    description: "With its first key, which has every scope.",
    body: bodyDescription(newTeamBody, "TeamRequest", {
      name: "For people.",
      tier: "The plan.",
      owner_email: "Where notices about the quota are sent.",
    }),
    answers: created(SECRET_ONCE, newTeam),
    errors: ["missing_field"],
    links: ["getTeam", "changeTeam", "createTeamKey"],
    idempotency: "none",
    example: {
      body: { name: "Acme", tier: "team", owner_email: "owner@example.com" },
      status: 201,
      answer: { ...TEAM, key: KEY },
    },
  },
  {
    method: "POST",
    path: "/v1/teams/:id/keys",
    access: OPERATOR_ONLY,
    handler: createTeamKey,
    id: "createTeamKey",
    summary: "Create a credential for a team",
    description: "The way back in for a team that lost every key.",
    pathFields,
    body: newCredentialBody,
    answers: created(SECRET_ONCE, newKey),
    errors: ["missing_field", "not_found"],
    idempotency: "none",
    example: {
      path: { id: TEAM.id },
      body: { kind: "api_key", name: "way back", scopes: ["admin"] },
      status: 201,
      answer: { ...KEY, name: "way back", scopes: ["admin"] },
      needs: ["createTeam"],
    },
  },
  {
    method: "GET",
    path: "/v1/teams",
    access: OPERATOR_ONLY,
    handler: listTeams,
    id: "listTeams",
    summary: "List teams",
    description: "All teams, by id.",
    query: page,
    answers: ok(
      "A page.",
      z.object({ teams: z.array(team), cursor: nextCursor }).meta({ id: "TeamPage" }),
    ),
    example: { status: 200, answer: { teams: [TEAM], cursor: null }, needs: ["createTeam"] },
  },
  {
    method: "GET",
    path: "/v1/teams/:id",
    access: OPERATOR_ONLY,
    handler: getTeam,
    id: "getTeam",
    summary: "Read a team",
    description: "What is set for it; nothing of what it stores.",
    pathFields,
    answers: ok("The team.", team),
    errors: ["not_found"],
    example: { path: { id: TEAM.id }, status: 200, answer: TEAM, needs: ["createTeam"] },
  },
  {
    method: "PATCH",
    path: "/v1/teams/:id",
    access: OPERATOR_ONLY,
    handler: changeTeam,
    id: "changeTeam",
    summary: "Change a team",
    description: "What is not sent stays as it is. It is felt at once in this process and within " +
      "10 seconds in others. Of a suspended team every call is refused, and its data is kept.",
    pathFields,
    body: bodyDescription(teamChangeBody, "TeamChange", {
      name: "For people.",
      tier: "The plan; a team that leaves enterprise loses its `limits`.",
      owner_email: "Null for no notices.",
      rate: "In place of the plan's; null for the plan's.",
      limits: "On enterprise alone, all at once; null for the plan's. `payload_days` is at most " +
        "`record_days`.",
      suspended: "Whether every call of the team is refused.",
    }, { rate: "TeamRateChange", limits: "TeamLimitsChange" }),
    answers: ok("The team as it is now.", team),
    errors: ["not_found"],
    idempotency: "content",
    example: {
      path: { id: TEAM.id },
      body: { name: "Acme Ltd", rate: { sustained: 50, burst: 100 } },
      status: 200,
      answer: { ...TEAM, name: "Acme Ltd", rate: { sustained: 50, burst: 100 } },
      needs: ["createTeam"],
    },
  },
]);
