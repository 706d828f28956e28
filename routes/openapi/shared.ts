/**
 * Schemas that several operations share. The document refers to them by name wherever they occur, so
 * that generated clients have one type for each.
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

/** A named schema. */
interface Shared {
  /** The schema as it occurs in bodies and responses. */
  readonly is: JsonSchema;
  /** Properties that the document adds to the named schema. */
  readonly more: JsonSchema;
}

/** Values of each enumeration, by its name. */
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
        "An RFC 3339 instant in the years 1970 to 9999, stored in UTC with millisecond precision.",
    },
  },
  JsonObject: {
    is: { type: "object" },
    more: { description: "Any JSON object.", additionalProperties: true },
  },
  JsonValue: { is: {}, more: { description: "Any JSON value." } },
};

/** All shared schemas by name. */
const SHARED: ReadonlyMap<string, Shared> = new Map<string, Shared>([
  ...Object.entries(ENUMS).map(([name, words]): [string, Shared] => [
    name,
    { is: { type: "string", enum: words }, more: {} },
  ]),
  ...Object.entries(OTHERS),
]);

/** Keys that describe a schema's use, not its values. */
const OF_PLACE: ReadonlySet<string> = new Set(["description", "default"]);

const NAMES: ReadonlyMap<string, string> = new Map(
  [...SHARED].map(([name, { is }]) => [contentOf(is), name]),
);

/** Returns the name of a shared schema; undefined if the schema is not shared. */
export function sharedName(schema: JsonSchema): string | undefined {
  return NAMES.get(contentOf(schema));
}

/** Returns a shared schema as the document defines it. */
export function sharedSchema(name: string): JsonSchema {
  const shared = SHARED.get(name);
  return { ...shared?.is, ...shared?.more };
}

/** Returns the keys of a schema that describe its use. */
export function ofPlace(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => OF_PLACE.has(key)));
}

/** Returns the keys of a schema that describe values, as canonical text. */
function contentOf(schema: JsonSchema): string {
  const content = Object.entries(schema).filter(([key]) => !OF_PLACE.has(key))
    .map(([key, value]) => [key, key === "enum" ? [...value as string[]].sort() : value]);
  return JSON.stringify(content.sort(([a], [b]) => String(a) < String(b) ? -1 : 1));
}
