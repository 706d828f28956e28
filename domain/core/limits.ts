/**
 * Every number the service enforces, each with where it comes from.
 *
 * "contract N", "decision N" and "RN" are rulings of `docs/DECISIONS.md`.
 * `docs/API.md` lists all numbers; a test keeps the two together.
 *
 * @module
 */

/** Events one batch may hold (contract 14). */
export const EVENTS_PER_BATCH_MAX = 50;

/** Bytes of a batch of events, after inflating (R10). */
export const EVENTS_BODY_BYTES_MAX = 16_777_216;

/** Bytes of any other body of an ingest call, after inflating (R10). */
export const BODY_BYTES_MAX = 2_097_152;

/** Bytes of a body that is parsed whole (R10); the control API takes no larger one. */
export const WHOLE_BODY_BYTES_MAX = 1_048_576;

/** Bytes of a form of the dashboard: the longest notes on an agent, percent-encoded, and the rest. */
export const FORM_BYTES_MAX = 32_768;

/** Bytes of one event as sent; of a larger one the payload is truncated (R7). */
export const EVENT_BYTES_MAX = 262_144;

/** Bytes of a run's `output` as sent; a larger one is truncated (R7). */
export const OUTPUT_BYTES_MAX = 524_288;

/**
 * Levels of nested objects and arrays in a payload, its own being 1; a deeper one is truncated (R7). A body
 * of the control API that nests deeper is refused.
 */
export const JSON_DEPTH_MAX = 64;

/** Characters kept of a payload that is truncated (R7). */
export const PREVIEW_CHARS_MAX = 2_000;

/** Bytes of a figure, such as `usage`, that is kept of a truncated payload (R7). */
export const USAGE_FIELD_BYTES_MAX = 16_384;

/** Milliseconds a client may take to send its body; the runtime has no such deadline itself. */
export const BODY_DEADLINE_MS = 15_000;

/** Milliseconds the store may take before the caller is told 503; a retry is always safe. */
export const STORAGE_DEADLINE_MS = 2_000;

/** Milliseconds between the signal to stop and the end of the process. */
export const DRAIN_MS_MAX = 5_000;

/** Characters (code points) of an agent slug (decision 13). */
export const AGENT_CHARS_MAX = 128;

/** Characters of labels that become index keys: with 4 bytes each they fit a 2,048 byte key. */
export const LABEL_CHARS_MAX = 256;

/** Characters of an event's `type`: as an agent's, it is a name people filter by. */
export const EVENT_TYPE_CHARS_MAX = 128;

/** Characters of a run's `goal`: a few pages of text. */
export const GOAL_CHARS_MAX = 16_384;

/** Scores one finish may carry: people compare them by eye. */
export const SCORES_MAX = 200;

/** Scores that may be added to a run: a page of them, read with its record. */
export const ADDED_SCORES_MAX = 200;

/** Characters of what a score comes from. */
export const SCORE_SOURCE_CHARS_MAX = 128;

/** Characters of a score's name. */
export const SCORE_NAME_CHARS_MAX = 128;

/** Characters of a metadata key (contract 14). */
export const METADATA_KEY_CHARS_MAX = 20;

/** Characters of a metadata value, numbers and booleans as JSON text (contract 14). */
export const METADATA_VALUE_CHARS_MAX = 50;

/** Characters of a ping's `metadata` note (decisions, section 3). */
export const NOTE_CHARS_MAX = 256;

/** Characters of a credential's name, shown in lists. */
export const KEY_NAME_CHARS_MAX = 128;

/** Seconds of `idle_timeout_seconds`: a minute to a day (decisions, section 4). */
export const IDLE_TIMEOUT_SECONDS = { min: 60, max: 86_400 } as const;

/** Dollars a client may report for one run (decision 34). */
export const COST_USD_MAX = 1_000_000;

/** Milliseconds a client's clock may differ before the record says so (decision 31). */
export const CLOCK_SKEW_MS_MAX = 60_000;

/**
 * Models whose usage a run keeps apart; the smallest names stay, so order cannot matter, and the rest
 * is summed. With the longest names they take a third of the one value the ledger must fit.
 */
export const RUN_MODELS_MAX = 20;

/** Events on one page of a run's record (decisions, section 6). */
export const EVENTS_PER_PAGE = { default: 50, max: 1_000 } as const;

/** Bytes (UTF-8) of events on one page: a page of large events ends early, with a cursor. */
export const EVENTS_PAGE_BYTES_MAX = 1_048_576;

/** Children that a run's record lists, the latest first. */
export const CHILDREN_MAX = 100;

/**
 * Descendants whose cost a record adds to a run's own, and how many generations: each of them is a
 * read, and a record is to be there in a moment.
 */
export const DESCENDANTS = { max: 200, generations: 10 } as const;

/** Archived agents of a team; what sorts them by when they were seen holds all of them. */
export const ARCHIVED_AGENTS_MAX = 10_000;

/** Characters of the notes on an agent. */
export const AGENT_NOTES_CHARS_MAX = 2_000;

/** Dollars per million tokens of a rate: a thousand times the dearest model. */
export const RATE_USD_PER_MILLION_MAX = 1_000_000;

/** Tiers of one rate: published prices have one or two. */
export const RATE_TIERS_MAX = 10;

/** Characters of the note of a rate: a line, as a ping's. */
export const RATE_NOTE_CHARS_MAX = 256;

/** Milliseconds a question about spend may take, its wait for a turn included. */
export const SPEND_DEADLINE_MS = 10_000;

/** Own rows on a team's rate card: all of them are in memory wherever its calls are priced. */
export const RATE_ROWS_MAX = 1_000;

/** Default rows on one page of the rate card. */
export const RATES_PER_PAGE = { default: 200, max: 1_000 } as const;

/** Credentials, teams or entries of the audit log on one page. */
export const ADMIN_PER_PAGE = { default: 100, max: 500 } as const;

/** Hours that the old secret of a rotated credential goes on working (decision 4): at most a week. */
export const OVERLAP_HOURS = { default: 24, max: 168 } as const;

/** Characters of a team's name, shown in lists. */
export const TEAM_NAME_CHARS_MAX = 128;

/** Characters of an e-mail address, in all and before the `@`: mail servers take no more. */
export const EMAIL_CHARS_MAX = { all: 254, local: 64 } as const;

/** Requests a second, or at once, that can be set for one team: more than one instance answers. */
export const OWN_RATE_MAX = 1_000_000;

/** The most that any limit set for one team can be; what is to have none is left without. */
export const OWN_LIMIT_MAX = 1_000_000_000;

/** How much faster and larger the control API's bucket is than the plan's (decision 36). */
export const CONTROL_RATE_FACTOR = 2;

/** How many times the business plan's control rate an enterprise team has, unless a rate is set for it. */
export const ENTERPRISE_CONTROL_FACTOR = 10;

/** Part of the control rate that pages of the dashboard have for themselves once the rest is used up. */
export const DASHBOARD_RESERVE = 0.2;

/** Rows and KiB that a read may take for each token of the control bucket beyond its first. */
export const READ_TOKEN = { rows: 100, kib: 64 } as const;

/** Seconds of a plan's byte rate that may arrive at once. */
export const BYTES_BURST_SECONDS = 64;

/**
 * Teams that a rate is surely remembered for, fewer where the memory budget is small. So many others take longer to ask than a bucket of any
 * plan takes to fill, so that who is forgotten would be full again.
 */
export const RATE_TEAMS_MAX = 20_000;

/** Changes on one page of the feed. */
export const CHANGES_PER_PAGE = { default: 100, max: 1_000 } as const;

/** Characters of one page of the feed, roughly: a page of runs with long names ends early. */
export const CHANGES_PAGE_CHARS_MAX = 1_048_576;

/** Seconds a call may wait for the next change. */
export const CHANGES_WAIT_SECONDS_MAX = 30;

/** Seconds a call may wait for a run to be processed. */
export const FINAL_WAIT_SECONDS = { default: 30, max: 60 } as const;

/** Calls that wait and live streams, open at once in one process and of one team. */
export const LISTENERS_MAX = { process: 500, team: 50 } as const;

/** Changes a live stream may be behind; of more the rest is left to the feed. */
export const LIVE_CHANGES_LAG_MAX = 1_000;

/** Milliseconds after which a live stream says that it is still there. */
export const LIVE_KEEP_ALIVE_MS = 15_000;

/** Characters of the changes that a live stream is handed at once, roughly: a batch ends early. */
export const LIVE_BATCH_CHARS_MAX = 40_960;

/** Bytes kept for a live stream that takes them too slowly; beyond that it is closed. */
export const LIVE_BUFFER_BYTES_MAX = 65_536;

/** How long a session of the dashboard lasts: without use, and in all. Milliseconds. */
export const SESSION = { idleMs: 12 * 3_600_000, maxMs: 7 * 86_400_000 } as const;

/** Sessions of one key: for the next one the oldest ends. */
export const SESSIONS_PER_KEY_MAX = 100;

/**
 * Refusals kept of a team: combinations of code, field, agent and client that each hour counts apart, the
 * latest ones with their message, and days.
 */
export const REFUSAL_LIMITS = { kindsPerHour: 100, latest: 100, days: 7 } as const;

/** Characters of the texts of a refusal: beyond that they are cut. */
export const REFUSAL_CHARS_MAX = { message: 300, userAgent: 128, field: 64 } as const;

/** Hours that `GET /v1/refusals` looks back. */
export const REFUSAL_HOURS = { default: 24, max: REFUSAL_LIMITS.days * 24 } as const;
