/** `/v1/teams`: team management by the operator of the service. */
import { OPERATOR_ONLY } from "../../http/access.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { existing, notFound } from "../../../domain/core/errors.ts";
import { rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { Query } from "../../../domain/core/query.ts";
import {
  isTeamId,
  newTeamBody,
  parseNewTeam,
  parseTeamChange,
  teamChangeBody,
  teamFields,
  tier,
} from "../../../domain/teams/team_change.ts";
import { answerTagged } from "../../http/answer.ts";
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { answerNewKey, answerSecret, newCredentialBody, newKey } from "../keys/keys.ts";
import { z } from "zod";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { created, endpoints } from "../../openapi/describe.ts";
import { jobId, month } from "../../openapi/fields.ts";
import type { TeamStore } from "../../../kv/teams/teams.ts";
import type { Handler } from "../../http/admission.ts";
import {
  monthSpanOf,
  type Notice,
  parseUsageQuery,
  projectedUse,
  quotaState,
  type QuotaUse,
} from "../../../domain/teams/quota.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import * as shape from "../../openapi/wire.ts";
import type { UsageStore } from "../../../kv/teams/usage.ts";
import { listOf, returns } from "../answers.ts";

/** Months listed. */
const MONTHS_MAX = 12;

/** Usage of a team, with its quota state. */
export type UsageView = Awaited<ReturnType<typeof readUsage>>;

/** Reads a team's usage of a month, compared with its current plan. */
export async function readQuota(usage: UsageStore, team: Team, month: string): Promise<QuotaUse> {
  const used = await usage.used(team.id, month);
  const included = planOfTeam(team).eventsPerMonth;
  return { month, used, included, state: quotaState(used, included) };
}

/** Reads a team's usage of a month, and the last months with usage, latest first. */
export async function readUsage(usage: UsageStore, team: Team, month: string, nowMs: number) {
  const [quota, notices, months] = await Promise.all([
    readQuota(usage, team, month),
    usage.notices(team.id, month),
    usage.months(team.id, MONTHS_MAX),
  ]);
  return {
    ...quota,
    /** Projected usage of the month at the current pace. */
    projected: projectedUse(quota.used, month, nowMs),
    resetsAt: monthSpanOf(month).endMs,
    notices,
    // States are relative to the current plan.
    months: months.map((past) => ({ ...past, state: quotaState(past.used, quota.included) })),
  };
}

export const getUsage: Handler = async (c, { usage, environment }, { team }) => {
  const nowMs = environment.now();
  const query = parseUsageQuery(queryOf(c), nowMs);
  const view = await readUsage(usage, team, query, nowMs);
  return answerTagged(c, usageAnswer.write(view));
};

const state = shape.oneOf("QuotaState", ["normal", "heads_up", "over"]);

const STATE = "`normal` below 80 %, `heads_up` from 80 %, `over` from 100 %.";

const notice = shape.object<Notice>("QuotaNotice", {
  threshold: shape.wire(z.number())(({ percent }) => percent / 100),
  // Null unless a mail server is known to have accepted it.
  sent_at: shape.instant.orNull("sentAt"),
});

const monthUsage = shape.object<UsageView["months"][number]>("MonthUsage", {
  month: shape.wire(month)("month"),
  used: shape.count("used"),
  state: state("state", STATE),
});

/** Usage of a month. */
export const usageAnswer = shape.object<UsageView>("Usage", {
  month: shape.wire(month)("month"),
  used: shape.count("used", "Events counted in the month, by time of arrival."),
  included: shape.count.orNull(
    ({ included }) => included === Infinity ? null : included,
    "Events included in the plan; null without a limit.",
  ),
  ratio: shape.wire(z.number().meta({ minimum: 0 })).orNull(({ used, included }) =>
    included === Infinity ? null : used / included
  ),
  state: state("state", STATE),
  projected: shape.count(
    "projected",
    "Projection for the full month: `used` divided by the elapsed share of it.",
  ),
  resets_at: shape.instant("resetsAt"),
  notices: shape.list(notice)("notices"),
  months: shape.list(monthUsage)("months"),
});

/** Decodes a cursor of the team list; null when it is invalid. */
export function teamIdOf(cursor: string): TeamId | null {
  const id = decodeCursor(cursor);
  return id !== null && isTeamId(id) ? id : null;
}

/** Error for an unknown team id. */
export const NO_SUCH_TEAM = notFound("No such team: list the teams to see their ids");

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
  id: jobId.describe("Random; reveals nothing about other teams."),
  name: z.string(),
  tier,
  owner_email: z.string().nullable(),
  rate: rate.nullable().describe("Null: the plan's rate applies."),
  limits: limits.nullable()
    .describe("Null: the plan's limits apply. A field that is null means unlimited."),
  suspended: z.boolean(),
  suspended_at: shape.instant.schema.nullable(),
  created_at: shape.instant.schema.nullable().describe(
    "Null for teams created before this was recorded.",
  ),
};

const team = shape.wire<Team>(
  z.object(fields).meta({ id: "Team" }),
  (team) => rawOf(teamFields(team)),
);

const teamPage = shape.page("TeamPage", "teams", team);

const newTeam = shape.wire<Awaited<ReturnType<TeamStore["create"]>>>(
  z.object({ ...fields, key: newKey.schema }).meta({ id: "NewTeam" }),
  ({ team, record, secret }) =>
    writeObject([
      ...Object.entries(teamFields(team)).map(([name, value]) => [name, rawOf(value)] as const),
      ["key", newKey.write({ ...record, secret })],
    ]),
);

const pathFields = { id: jobId.describe("The team's id.") };
const SECRET_ONCE = "Created. The secret is returned only once.";

/** Team endpoints for the operator. */
export const TEAM_ENDPOINTS = endpoints("Teams", {
  createTeam: {
    route: "POST /v1/teams",
    access: OPERATOR_ONLY,
    handler: async (c, { teams }) => {
      const spec = parseNewTeam(c.get("body"));
      return answerSecret(c, newTeam.write(await teams.create(spec)));
    },
    summary: "Create a team",
    description: "Creates a team and its first key, which has every scope.",
    body: newTeamBody.meta({ id: "TeamRequest" }),
    answers: created(SECRET_ONCE, newTeam),
    errors: ["missing_field"],
    links: ["getTeam", "changeTeam", "createTeamKey"],
    idempotency: "none",
  },
  createTeamKey: {
    route: "POST /v1/teams/:id/keys",
    access: OPERATOR_ONLY,
    handler: async (c, deps) => {
      const team = await deps.teams.get(c.req.param("id") ?? "");
      return answerNewKey(deps, c, existing(team, NO_SUCH_TEAM));
    },
    summary: "Create a credential for a team",
    description: "Restores access for a team that lost all its keys.",
    pathFields,
    body: newCredentialBody,
    answers: created(SECRET_ONCE, newKey),
    errors: ["missing_field", "not_found"],
    idempotency: "none",
  },
  listTeams: {
    route: "GET /v1/teams",
    access: OPERATOR_ONLY,
    ...listOf("teams", teamPage, ADMIN_PER_PAGE, async (c, { teams }) => {
      const { teams: items, next } = await teams.page(new Query(queryOf(c)).page(teamIdOf));
      return { items, cursor: next && encodeCursor(next) };
    }),
    summary: "List teams",
    description: "Lists all teams, ordered by id.",
  },
  getTeam: {
    route: "GET /v1/teams/:id",
    access: OPERATOR_ONLY,
    ...returns(
      "The team.",
      team,
      async (c, { teams }) => existing(await teams.get(c.req.param("id") ?? ""), NO_SUCH_TEAM),
    ),
    summary: "Read a team",
    description: "Returns the team's settings, but none of its data.",
    pathFields,
    errors: ["not_found"],
  },
  changeTeam: {
    route: "PATCH /v1/teams/:id",
    access: OPERATOR_ONLY,
    ...returns("The updated team.", team, async (c, { teams }) => {
      const change = parseTeamChange(c.get("body"));
      return existing(await teams.change(c.req.param("id") ?? "", change), NO_SUCH_TEAM);
    }),
    summary: "Change a team",
    description: "Fields that are not sent keep their values. The change takes effect " +
      "immediately in this process and within 10 seconds in others. Every call of a suspended " +
      "team is refused; its data is kept.",
    pathFields,
    body: teamChangeBody.meta({ id: "TeamChange" }),
    errors: ["not_found"],
    idempotency: "content",
  },
});
