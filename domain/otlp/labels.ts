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
import { isLonger } from "../core/rules.ts";
import type { MetadataLabel } from "../runs/trace_facts.ts";
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

/** Returns the metadata that a span gives; keys and values beyond their limits are left out. */
export function metadataOf(
  { span, labels }: Observation,
  service: Service,
): readonly MetadataLabel[] {
  const { resource, attributes, startMs: at, spanId: id } = span;
  const kept: MetadataLabel[] = [];
  const add = (key: string, value: string | null) => {
    if (value === null || isLonger(value, METADATA_VALUE_CHARS_MAX)) return;
    kept.push({ key, rank: 0, at, id, value });
  };
  let keys: Set<string> | null = null;
  const addOther = (key: string, value: string | null) => {
    keys ??= new Set(kept.map((label) => label.key));
    if (key === "" || keys.has(key) || isLonger(key, METADATA_KEY_CHARS_MAX)) return;
    const count = kept.length;
    add(key, value);
    if (kept.length > count) keys.add(key);
  };
  if (service.isKnown) add("service", service.name);
  add("env", textOf(resource, ENV_KEYS) ?? textOf(attributes, SPAN_ENV_KEYS));
  add("version", textOf(resource, ["service.version"]));
  add("session", sessionOf(span, labels));
  for (const given of [resource, attributes]) {
    for (const key of given.keys()) {
      if (!key.startsWith(METADATA_PREFIX)) continue;
      addOther(key.slice(METADATA_PREFIX.length), plainText(given.get(key)));
    }
  }
  for (const key of TAG_KEYS) {
    // LangSmith adds tags of its own, which have a colon.
    for (const tag of listOf(attributes.get(key))) {
      if (!tag.includes(":")) addOther(`tag.${tag}`, "true");
    }
  }
  return kept;
}

const ENV_KEYS = ["deployment.environment.name", "deployment.environment"];
const SPAN_ENV_KEYS = [...ENV_KEYS, "langfuse.environment"];

const TAG_KEYS = [
  "langfuse.trace.tags",
  "tag.tags",
  "ai.telemetry.metadata.tags",
  "langsmith.span.tags",
];

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

function appLabel(labels: AppLabels, names: readonly string[]): string | null {
  if (labels.size === 0) return null;
  return names.map((name) => labels.get(name)).find((value) => value !== undefined) ?? null;
}

/** Returns the first label that fits, with a tier that falls with its position. */
function firstLabel(values: readonly (string | null)[]): TieredLabel | null {
  const at = values.findIndex((value) => value !== null && !isLonger(value, LABEL_CHARS_MAX));
  const value = values[at];
  return value === undefined || value === null ? null : { tier: values.length - at, value };
}
