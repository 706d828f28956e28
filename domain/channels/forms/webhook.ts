/**
 * The JSON body of webhooks.
 *
 * @module
 */
import { formatInstant, formatInstantOrNull } from "../../core/time.ts";
import type {
  IncidentFacts,
  IncidentGroup,
  IncidentState,
  Message,
  ResolvedBy,
  Severity,
} from "../message.ts";
import {
  errorOf,
  type FormContext,
  incidentUrl,
  plainFacts,
  plainText,
  TEXT_CHARS_MAX,
} from "./words.ts";

/** Maximum bytes of a body. Its texts are cut so that none is longer. */
export const WEBHOOK_BYTES_MAX = 20_000;

/** Returns the body of a message. It is the same for all tries. */
export function webhookBody(message: Message, context: FormContext): string {
  const { event, at, incident, countSince } = message;
  const { team, publicUrl } = context;
  return JSON.stringify({
    type: event,
    timestamp: formatInstant(at),
    data: {
      incident: incident && {
        ...incidentJson(plainFacts(incident), publicUrl),
        error: errorOf(incident, context),
        ...countSince === undefined ? {} : { count_since: countSince },
      },
      team: { id: team.id, name: plainText(team.name, TEXT_CHARS_MAX.name) },
      test: event === "channel.test",
    },
  });
}

/** An incident, as sent and returned; instants are RFC 3339 texts. */
export interface IncidentJson {
  /** Identifier. */
  readonly id: string;
  /** Slug of the rule. */
  readonly rule: string;
  /** Kind of the rule. */
  readonly kind: string;
  /** Severity of the rule. */
  readonly severity: Severity;
  /** State. */
  readonly state: IncidentState;
  /** Agent, customer, feature or model; empty without a group. */
  readonly group: IncidentGroup;
  /** Time of the outcome that opened it. */
  readonly opened_at: string;
  /** Time of the outcome that resolved it; null while it is open. */
  readonly resolved_at: string | null;
  /** The cause that resolved it; null while it is open. */
  readonly resolved_by: ResolvedBy | null;
  /** Seconds from the opening to the end; null while it is open. */
  readonly duration_seconds: number | null;
  /** Number of bad outcomes. */
  readonly count: number;
  /** Measured value of the last one; null for none. */
  readonly value: number | null;
  /** Value that it is compared with; null for none. */
  readonly threshold: number | null;
  /** One sentence for people. */
  readonly message: string;
  /** Newest runs, newest first. */
  readonly run_ids: readonly string[];
  /** True if a silence mutes it. */
  readonly silenced: boolean;
  /** The acknowledgement; null for none. */
  readonly acknowledged: AcknowledgementJson | null;
  /** Its page; null without the service's public address (decision 55). */
  readonly url: string | null;
}

/** An acknowledgement. */
export interface AcknowledgementJson {
  /** Identifier of the credential. */
  readonly by: string;
  /** Time. */
  readonly at: string;
  /** Words of the user; null for none. */
  readonly note: string | null;
}

/**
 * Returns the JSON of an incident.
 *
 * @param publicUrl origin of links; null for no links
 */
export function incidentJson(facts: IncidentFacts, publicUrl: string | null): IncidentJson {
  const { openedAt, resolvedAt, acknowledged } = facts;
  return {
    id: facts.id,
    rule: facts.rule,
    kind: facts.kind,
    severity: facts.severity,
    state: facts.state,
    group: facts.group,
    opened_at: formatInstant(openedAt),
    resolved_at: formatInstantOrNull(resolvedAt),
    resolved_by: facts.resolvedBy,
    duration_seconds: resolvedAt === null
      ? null
      : Math.max(0, Math.round((resolvedAt - openedAt) / 1_000)),
    count: facts.count,
    value: facts.value,
    threshold: facts.threshold,
    message: facts.title,
    run_ids: facts.runs,
    silenced: facts.isSilenced,
    acknowledged: acknowledged && { ...acknowledged, at: formatInstant(acknowledged.at) },
    url: incidentUrl(facts.id, publicUrl),
  };
}
