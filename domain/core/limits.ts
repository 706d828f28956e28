/**
 * All limits the service enforces, each with its source.
 *
 * "contract N", "decision N" and "RN" are rulings of `docs/CONTRACT.md`.
 * `docs/LIMITS.md` lists all limits; a test keeps it in sync with this file.
 *
 * @module
 */

/** Maximum number of events in one batch (contract 14). */
export const EVENTS_PER_BATCH_MAX = 50;

/** Maximum bytes of a batch of events, decompressed (R10). */
export const EVENTS_BODY_BYTES_MAX = 16_777_216;

/**
 * Maximum `{`, `[` and `:` outside of strings in a batch above {@link WHOLE_BODY_BYTES_MAX}, which is
 * what parsing costs.
 */
export const BATCH_STRUCTURE_MAX = 400_000;

/** Maximum bytes of any other ingest body, decompressed (R10). */
export const BODY_BYTES_MAX = 2_097_152;

/**
 * Maximum bytes of a body that is parsed in one piece (R10), and of `metadata`; the control API
 * rejects larger bodies.
 */
export const WHOLE_BODY_BYTES_MAX = 1_048_576;

/** Maximum bytes of a dashboard form: fits the longest agent notes, percent-encoded, and other fields. */
export const FORM_BYTES_MAX = 32_768;

/** Maximum bytes of one event as sent; the payload of a larger event is truncated (R7). */
export const EVENT_BYTES_MAX = 262_144;

/** Maximum bytes of a run's `output` as sent; a larger one is truncated (R7). */
export const OUTPUT_BYTES_MAX = 524_288;

/**
 * Maximum nesting depth of a payload, where the payload itself is level 1. A deeper payload is
 * truncated (R7); a control API body that nests deeper is rejected.
 */
export const JSON_DEPTH_MAX = 64;

/** Characters kept of a truncated payload (R7). */
export const PREVIEW_CHARS_MAX = 2_000;

/** Maximum bytes of a usage field, such as `usage`, kept from a truncated payload (R7). */
export const USAGE_FIELD_BYTES_MAX = 16_384;

/** Milliseconds a client may take to send its body; the runtime has no such deadline. */
export const BODY_DEADLINE_MS = 15_000;

/** Milliseconds the store may take before the caller gets 503; a retry is always safe. */
export const STORAGE_DEADLINE_MS = 2_000;

/** Maximum milliseconds between the stop signal and the exit of the process. */
export const DRAIN_MS_MAX = 5_000;

/** Maximum characters (code points) of an agent slug (decision 13). */
export const AGENT_CHARS_MAX = 128;

/** Maximum characters of labels in index keys: at 4 bytes each they fit a 2,048 byte key. */
export const LABEL_CHARS_MAX = 256;

/** Maximum characters of an event's `type`: like an agent slug, people filter by it. */
export const EVENT_TYPE_CHARS_MAX = 128;

/** Maximum characters that a run keeps of the name of a failed tool. */
export const TOOL_NAME_CHARS_MAX = 128;

/** Maximum characters of a run's `goal`: a few pages of text. */
export const GOAL_CHARS_MAX = 16_384;

/** Maximum scores in one finish request: people compare them by eye. */
export const SCORES_MAX = 200;

/** Maximum scores added to a run: one page, read together with the record. */
export const ADDED_SCORES_MAX = 200;

/** Maximum characters of a score's source. */
export const SCORE_SOURCE_CHARS_MAX = 128;

/** Maximum characters of a score's name. */
export const SCORE_NAME_CHARS_MAX = 128;

/** Maximum characters of a metadata key (contract 14). */
export const METADATA_KEY_CHARS_MAX = 20;

/** Maximum characters of a metadata value; numbers and booleans count as JSON text (contract 14). */
export const METADATA_VALUE_CHARS_MAX = 50;

/** Maximum characters of a ping's `metadata` note (decisions, section 3). */
export const NOTE_CHARS_MAX = 256;

/** Maximum characters of a ping's `rid`: Healthchecks takes a UUID, others a job number (R23). */
export const RID_CHARS_MAX = 64;

/**
 * Maximum `duration_ms` that a missing start is derived from (R26): a month. A wrong unit would move a
 * run to another year.
 */
export const DERIVED_START_MS_MAX = 31 * 86_400_000;

/** Maximum characters of a credential's name, shown in lists. */
export const KEY_NAME_CHARS_MAX = 128;

/** Range of `idle_timeout_seconds`: a minute to a day (decisions, section 4). */
export const IDLE_TIMEOUT_SECONDS = { min: 60, max: 86_400 } as const;

/** Maximum cost in dollars that a client may report for one run (decision 34). */
export const COST_USD_MAX = 1_000_000;

/** Clock skew of a client in milliseconds beyond which the record shows it (decision 31). */
export const CLOCK_SKEW_MS_MAX = 60_000;

/**
 * Maximum models with separate usage in one run. The smallest names are kept, so the result does not
 * depend on order; the other models are aggregated. With the longest names this takes a third of the
 * single value that stores the ledger.
 */
export const RUN_MODELS_MAX = 20;

/** Events on one page of a run's record (decisions, section 6). */
export const EVENTS_PER_PAGE = { default: 50, max: 1_000 } as const;

/** Maximum bytes (UTF-8) of events on one page: a page of large events ends early, with a cursor. */
export const EVENTS_PAGE_BYTES_MAX = 1_048_576;

/** Maximum children listed in a run's record, latest first. */
export const CHILDREN_MAX = 100;

/**
 * Maximum descendants and generations whose cost a record adds to the run's own. Each descendant costs
 * one read, and reading a record must stay fast.
 */
export const DESCENDANTS = { max: 200, generations: 10 } as const;

/** Maximum archived agents of a team: sorting them by last activity loads all of them. */
export const ARCHIVED_AGENTS_MAX = 10_000;

/** Maximum characters of the notes on an agent. */
export const AGENT_NOTES_CHARS_MAX = 2_000;

/** Maximum rate in dollars per million tokens: a thousand times the most expensive model. */
export const RATE_USD_PER_MILLION_MAX = 1_000_000;

/** Maximum tiers of one rate: published prices have one or two. */
export const RATE_TIERS_MAX = 10;

/** Maximum characters of a rate's note: one line, like a ping's note. */
export const RATE_NOTE_CHARS_MAX = 256;

/** Milliseconds a spend query may take, including its time in the queue. */
export const SPEND_DEADLINE_MS = 10_000;

/** Maximum own rows on a team's rate card: every process that prices its calls keeps all of them in memory. */
export const RATE_ROWS_MAX = 1_000;

/** Default rows on one page of the rate card. */
export const RATES_PER_PAGE = { default: 200, max: 1_000 } as const;

/** Credentials, teams or audit log entries on one page. */
export const ADMIN_PER_PAGE = { default: 100, max: 500 } as const;

/** Hours that the old secret of a credential or a webhook remains valid (decision 4): at most a week. */
export const OVERLAP_HOURS = { min: 0, default: 24, max: 168 } as const;

/** Maximum characters of a team's name, shown in lists. */
export const TEAM_NAME_CHARS_MAX = 128;

/** Maximum characters of an email address, in total and before the `@`, as mail servers limit them. */
export const EMAIL_CHARS_MAX = { all: 254, local: 64 } as const;

/**
 * Maximum rate or burst that can be set for one team: higher than the load that one instance can
 * serve.
 */
export const OWN_RATE_MAX = 1_000_000;

/** Maximum value of any limit set for one team; leave a limit out to have none. */
export const OWN_LIMIT_MAX = 1_000_000_000;

/** Factor of the control API's rate and burst over the plan's (decision 36). */
export const CONTROL_RATE_FACTOR = 2;

/** Factor of an enterprise team's control rate over the business plan's, unless the team has its own rate. */
export const ENTERPRISE_CONTROL_FACTOR = 10;

/** Fraction of the control rate reserved for dashboard pages once the rest is used up. */
export const DASHBOARD_RESERVE = 0.2;

/** Rows and KiB read that cost one token of the control bucket, in addition to the request's token. */
export const READ_TOKEN = { rows: 100, kib: 64 } as const;

/** Burst of a plan's byte rate, in seconds of the sustained rate. */
export const BYTES_BURST_SECONDS = 64;

/**
 * Minimum number of teams whose buckets are kept; fewer if the memory budget is small. By the time
 * this many other teams have sent requests, a bucket of any plan has refilled, so an evicted team
 * loses nothing.
 */
export const RATE_TEAMS_MAX = 20_000;

/** Changes on one page of the feed. */
export const CHANGES_PER_PAGE = { default: 100, max: 1_000 } as const;

/** Approximate maximum characters of one page of the feed: a page of runs with long names ends early. */
export const CHANGES_PAGE_CHARS_MAX = 1_048_576;

/** Maximum seconds a call may wait for the next change. */
export const CHANGES_WAIT_SECONDS_MAX = 30;

/** Seconds a call may wait for a run to be processed. */
export const FINAL_WAIT_SECONDS = { default: 30, max: 60 } as const;

/** Maximum long polls and live streams open at the same time, per process and per team. */
export const LISTENERS_MAX = { process: 500, team: 50 } as const;

/** Maximum changes a live stream may lag; clients read older ones from the feed. */
export const LIVE_CHANGES_LAG_MAX = 1_000;

/** Milliseconds between keep-alive messages of a live stream. */
export const LIVE_KEEP_ALIVE_MS = 15_000;

/** Approximate maximum characters of one batch of changes for a live stream; a larger batch ends early. */
export const LIVE_BATCH_CHARS_MAX = 40_960;

/** Maximum bytes buffered for a slow live stream; beyond that the stream is closed. */
export const LIVE_BUFFER_BYTES_MAX = 65_536;

/** Lifetime of a dashboard session in milliseconds: idle and in total. */
export const SESSION = { idleMs: 12 * 3_600_000, maxMs: 7 * 86_400_000 } as const;

/** Maximum sessions of one key; a further session ends the oldest. */
export const SESSIONS_PER_KEY_MAX = 100;

/** Limits of a team's stored refusals: the latest with their message, and UTC days of counts. */
export const REFUSAL_LIMITS = { latest: 100, days: 7 } as const;

/** Maximum characters of a refusal's texts; longer ones are cut. */
export const REFUSAL_CHARS_MAX = { message: 300, userAgent: 128, field: 64 } as const;
