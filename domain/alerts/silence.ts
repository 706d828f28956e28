/**
 * Silences: times in which the messages about some incidents are not sent (decision 78).
 *
 * @module
 */
import { z } from "zod";
import { isShort, matchNames, SHORT, versionField, withDefault } from "../config/body.ts";
import { CONFIG_SLUG, type ConfigObject, type ObjectKind } from "../config/objects.ts";
import { refuse } from "../core/errors.ts";
import { agentSlug, customer, instant, optional, text } from "../core/fields.ts";
import { formatInstant } from "../core/time.ts";
import { check } from "../core/validate.ts";

/** Maximum milliseconds from the `PUT` of a silence to its end. */
export const SILENCE_MS_MAX = 30 * 86_400_000;

/** Maximum characters of a comment. */
export const COMMENT_CHARS_MAX = 500;

/** Settings of a silence. */
export interface SilenceSettings {
  /** The messages that it mutes; an empty list matches all. */
  readonly match: {
    /** Slugs of rules. */
    readonly rules: readonly string[];
    /** Slugs of agents; `*` at the end matches any rest. */
    readonly agents: readonly string[];
    /** Ids of customers. */
    readonly customers: readonly string[];
  };
  /** Begin, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** End, exclusive, unix milliseconds. */
  readonly untilMs: number;
  /** Words of the user; null for none. */
  readonly comment: string | null;
}

/** Settings as sent; without a begin a new silence begins at once, and another keeps its begin. */
export interface SilencePut extends Omit<SilenceSettings, "fromMs"> {
  /** Begin, inclusive, unix milliseconds; null for none. */
  readonly fromMs: number | null;
}

/** A silence. */
export type Silence = ConfigObject<SilenceSettings>;

const DAYS_MAX = SILENCE_MS_MAX / 86_400_000;
const RULE = "a slug of a rule";
const MATCH = 'an object with "rules", "agents" and "customers"';

const schema = z.object({
  match: z.strictObject({
    rules: matchNames(z.string(RULE).regex(CONFIG_SLUG, RULE)).describe("Slugs of rules."),
    agents: matchNames(agentSlug())
      .describe("Slugs of agents; `*` at the end matches any rest."),
    customers: matchNames(customer()).describe("Ids of customers."),
  }, MATCH).refine(isShort, SHORT).meta({
    id: "SilenceMatchRequest",
    description: "What it mutes; an empty or absent list matches all.",
  }),
  from: optional(instant())
    .describe("Begin; when absent the time of the call, or the stored begin."),
  until: instant().describe(`End, in the future and at most ${DAYS_MAX} days from now.`),
  comment: withDefault(text(COMMENT_CHARS_MAX), null)
    .describe("Words for people, such as the reason."),
  version: versionField,
});

/**
 * Silences. The loop sends what a silence held back: at its end, and at once when it is changed or
 * deleted, because it may mute less then.
 */
export const SILENCES: ObjectKind<SilenceSettings, SilencePut> = {
  kind: "silence",
  prefix: "sil",
  cap: 100,
  schema,
  parse(body, nowMs) {
    const { match, from = null, until, comment, version } = check(schema, body);
    if (from !== null && from >= until) {
      return refuse("invalid_field", 'Field "from" must be before "until"', "from");
    }
    if (until <= nowMs) {
      return refuse("invalid_field", 'Field "until" must be in the future', "until");
    }
    if (until > nowMs + SILENCE_MS_MAX) {
      const latest = formatInstant(nowMs + SILENCE_MS_MAX);
      const message = `Field "until" must be at most ${DAYS_MAX} days from now: up to ${latest}`;
      return refuse("invalid_field", message, "until");
    }
    return { settings: { match, fromMs: from, untilMs: until, comment }, version };
  },
  complete({ sent, before, atMs }) {
    const fromMs = sent.fromMs ?? before?.settings.fromMs ?? atMs;
    return { settings: { ...sent, fromMs } };
  },
  fieldsOf: ({ match, fromMs, untilMs, comment }) => ({
    match: { ...match },
    from: formatInstant(fromMs),
    until: formatInstant(untilMs),
    comment,
  }),
  follow({ before, after, atMs }) {
    const [old, end] = [before?.settings.untilMs, after?.settings.untilMs];
    const times = [...before === null ? [] : [atMs], ...end === undefined ? [] : [end]];
    const workAt = (at: number) => ({ kind: "silence", at } as const);
    return {
      file: [...new Set(times)].map(workAt),
      remove: old === undefined || times.includes(old) ? [] : [workAt(old)],
    };
  },
};
