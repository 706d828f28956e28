/**
 * Schemas that several calls share. Wherever one of them stands in a schema, the document has a reference
 * to it: clients that are generated from the document then have one type for it, under one name.
 */
import { SCOPES } from "../../domain/teams/credentials.ts";
import { ERRORS } from "../../domain/core/errors.ts";
import { LIVE_EVENTS } from "../../domain/feed/live.ts";
import { MATCH_STEPS } from "../../domain/pricing/rates.ts";
import { STAGES } from "../../domain/runs/stages.ts";
import { TIER_NAMES } from "../../domain/teams/plans.ts";
import { AGENT_SORTS } from "../../domain/agents/agents.ts";
import { RUN_FLAGS } from "../../domain/runs/flags.ts";
import { FINISH_STATUSES, HEARTBEAT_STATUSES } from "../../domain/runs/run.ts";
import { RUN_KINDS, RUN_TRAITS } from "../../domain/runs/traits.ts";
import { GROUPINGS } from "../../domain/spend/spend_query.ts";
import { AUDIT_ACTIONS } from "../../domain/teams/audit_log.ts";

/** A JSON Schema as a plain object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema that has a name of its own. */
interface Shared {
  /** The schema as it stands in bodies and answers. */
  readonly is: JsonSchema;
  /** What the document adds under its name. */
  readonly more: JsonSchema;
}

/** Words of each enumeration, by its name. */
const ENUMS = {
  AgentSort: AGENT_SORTS,
  AuditAction: AUDIT_ACTIONS,
  CallFlag: ["cached_exceeds_input", "covered_by_stated_cost"],
  CostFlag: ["cached_exceeds_input"],
  CostState: ["pending", "final"],
  CredentialKind: ["api_key", "ping_token"],
  ErrorCode: Object.keys(ERRORS) as [string, ...string[]],
  FinishStatus: FINISH_STATUSES,
  HeartbeatStatus: HEARTBEAT_STATUSES,
  JobState: ["waiting", "running", "done"],
  LiveEvent: LIVE_EVENTS,
  MatchStep: MATCH_STEPS,
  PayloadState: ["partly_removed", "removed"],
  QuotaState: ["normal", "heads_up", "over"],
  RateSource: ["own", "default"],
  RunFlag: RUN_FLAGS,
  RunKind: RUN_KINDS,
  RunStatus: ["running", ...FINISH_STATUSES],
  RunTrait: RUN_TRAITS,
  Scope: SCOPES,
  SpendGrouping: GROUPINGS,
  StageName: STAGES,
  StageState: ["pending", "done", "skipped", "retrying", "dead"],
  Tier: TIER_NAMES,
  TokenKind: ["input", "cached_input", "cache_write", "output"],
} as const satisfies Record<string, readonly [string, ...string[]]>;

const OTHERS: Readonly<Record<string, Shared>> = {
  Instant: {
    is: { type: "string", format: "date-time" },
    more: {
      description:
        "An instant by RFC 3339, in the years 1970 to 9999. It is stored in UTC to the " +
        "millisecond.",
    },
  },
  JsonObject: {
    is: { type: "object" },
    more: { description: "Any JSON object.", additionalProperties: true },
  },
  JsonValue: { is: {}, more: { description: "Any JSON value." } },
};

/** All of them by their names. */
const SHARED: ReadonlyMap<string, Shared> = new Map<string, Shared>([
  ...Object.entries(ENUMS).map(([name, words]): [string, Shared] => [
    name,
    { is: { type: "string", enum: words }, more: {} },
  ]),
  ...Object.entries(OTHERS),
]);

/** What a schema says of the place where it stands, and not of its values. */
const OF_PLACE: ReadonlySet<string> = new Set(["description", "default"]);

const NAMES: ReadonlyMap<string, string> = new Map(
  [...SHARED].map(([name, { is }]) => [contentOf(is), name]),
);

/** The name under which a schema is shared; undefined for one that is not. */
export function sharedName(schema: JsonSchema): string | undefined {
  return NAMES.get(contentOf(schema));
}

/** A shared schema as the document has it. */
export function sharedSchema(name: string): JsonSchema {
  const shared = SHARED.get(name);
  return { ...shared?.is, ...shared?.more };
}

/** What a schema says of the place where it stands. */
export function ofPlace(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => OF_PLACE.has(key)));
}

/** What a schema says of values, as a text that is the same in any order. */
function contentOf(schema: JsonSchema): string {
  const content = Object.entries(schema).filter(([key]) => !OF_PLACE.has(key))
    .map(([key, value]) => [key, key === "enum" ? [...value as string[]].sort() : value]);
  return JSON.stringify(content.sort(([a], [b]) => String(a) < String(b) ? -1 : 1));
}
