/**
 * Reads the labels of a run from a span: customer, feature, session, environment and tags.
 *
 * @module
 */
import {
  LABEL_CHARS_MAX,
  METADATA_KEY_CHARS_MAX,
  METADATA_VALUE_CHARS_MAX,
} from "../core/limits.ts";
import { charCount } from "../core/raw_json.ts";
import { type AppLabels, listOf, plainText, textOf } from "./attributes.ts";
import type { Observation } from "./observation.ts";
import type { Span } from "./span.ts";

/** A label with its precedence: a greater tier wins. */
export interface TieredLabel {
  /** Precedence of its source. */
  readonly tier: number;
  /** The value. */
  readonly value: string;
}

/** Names of a customer in the application's labels; those of users are the last source. */
const CUSTOMERS = ["customer_id", "customerId", "tenant"], USERS = ["user_id", "userId"];

/** Returns the customer that a span names; null for none. */
export function customerOf({ span, labels }: Observation): TieredLabel | null {
  return firstLabel([
    ownLabel(span, "runledger.customer_id"),
    appLabel(labels, CUSTOMERS) ?? textOf(span.attributes, ["customer_id"]),
    textOf(span.attributes, ["langfuse.user.id", "user.id", "enduser.id"]) ??
      appLabel(labels, USERS),
  ]);
}

/** Returns the feature that a span names; null for none. */
export function featureOf({ span, agent, labels }: Observation): TieredLabel | null {
  const workflow = textOf(span.attributes, ["gen_ai.workflow.name"]);
  return firstLabel([
    ownLabel(span, "runledger.feature"),
    appLabel(labels, ["feature"]),
    (workflow === agent ? null : workflow) ?? textOf(span.attributes, ["gen_ai.prompt.name"]),
  ]);
}

const METADATA_PREFIX = "runledger.metadata.";

/** Returns the metadata that a span gives, by key; keys and values beyond their limits are left out. */
export function metadataOf({ span, labels: chosen }: Observation): ReadonlyMap<string, string> {
  const { resource, attributes } = span;
  const service = serviceOf(span);
  const labels: (readonly [string, string | null])[] = [
    ["service", service.isKnown ? service.name : null],
    ["env", eitherOf(span, ["deployment.environment.name", "deployment.environment"])],
    ["version", textOf(resource, ["service.version"])],
    ["session", sessionOf(span, chosen)],
  ];
  for (const given of [resource, attributes]) {
    for (const [key, value] of given) {
      if (!key.startsWith(METADATA_PREFIX)) continue;
      labels.push([key.slice(METADATA_PREFIX.length), plainText(value)]);
    }
  }
  for (const tag of tagsOf(span)) labels.push([`tag.${tag}`, "true"]);
  const kept = new Map<string, string>();
  for (const [key, value] of labels) {
    if (value === null || key === "" || kept.has(key)) continue;
    if (charCount(key) > METADATA_KEY_CHARS_MAX) continue;
    if (charCount(value) <= METADATA_VALUE_CHARS_MAX) kept.set(key, value);
  }
  return kept;
}

/** The service that sent a span. */
export interface Service {
  /** Its name. */
  readonly name: string;
  /** False if the name is a default. */
  readonly isKnown: boolean;
}

/** Returns the service of a span; `langsmith` is the name of an SDK. */
export function serviceOf({ resource }: Span): Service {
  const name = textOf(resource, ["service.name"]);
  if (name === null) return { name: "unknown_service", isKnown: false };
  return { name, isKnown: !name.startsWith("unknown_service") && name !== "langsmith" };
}

/** Returns a label that only this ledger reads, of the span or its resource; null for none. */
export function ownLabel({ attributes, resource }: Span, key: string): string | null {
  return textOf(attributes, [key]) ?? textOf(resource, [key]);
}

function sessionOf(span: Span, labels: AppLabels): string | null {
  return textOf(span.attributes, ["langfuse.session.id", "session.id"]) ??
    appLabel(labels, ["session_id", "sessionId", "thread_id"]) ??
    textOf(span.attributes, ["gen_ai.conversation.id", "thread_id"]);
}

function eitherOf({ attributes, resource }: Span, keys: readonly string[]): string | null {
  return textOf(resource, keys) ?? textOf(attributes, [...keys, "langfuse.environment"]);
}

/** Returns the tags of a span; LangSmith adds some of its own, which have a colon. */
function tagsOf({ attributes }: Span): readonly string[] {
  const values = [
    ...["langfuse.trace.tags", "tag.tags", "ai.telemetry.metadata.tags", "langsmith.span.tags"]
      .map((key) => attributes.get(key)),
  ];
  return values.flatMap(listOf).filter((tag) => !tag.includes(":"));
}

function appLabel(labels: AppLabels, names: readonly string[]): string | null {
  return names.map((name) => labels.get(name)).find((value) => value !== undefined) ?? null;
}

/** Returns the first label that fits, with a tier that falls with its position. */
function firstLabel(values: readonly (string | null)[]): TieredLabel | null {
  const at = values.findIndex((value) => value !== null && charCount(value) <= LABEL_CHARS_MAX);
  const value = values[at];
  return value === undefined || value === null ? null : { tier: values.length - at, value };
}
