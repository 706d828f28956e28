/** `POST /v1/heartbeats`, and `GET|HEAD /v1/ping`: a heartbeat from a shell (decisions, section 3). */
import { z } from "zod";
import { isOfStore } from "../../../domain/core/errors.ts";
import { Losses } from "../../../domain/core/losses.ts";
import {
  heartbeatBody,
  heartbeatStatus,
  parseHeartbeat,
} from "../../../domain/ingest/heartbeat.ts";
import type { MonitorSettings } from "../../../domain/monitors/monitor.ts";
import { ignoredText, parsePingQuery, readPing } from "../../../domain/ingest/ping.ts";
import {
  durationOf,
  type HeartbeatStatus,
  heartbeatStatusOf,
  reportedBy,
  statusOf,
} from "../../../domain/runs/run.ts";
import { IGNORED_PARAMETER } from "../../../domain/refusals/refusals.ts";
import { agentRefusalOf } from "../../../domain/teams/credentials.ts";
import { prefersJson } from "../../http/compress.ts";
import { KEY_OR_TOKEN } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { answer, answerText, answerWrite, fail, writeHeaders } from "../../http/answer.ts";
import { type AppDeps, parseContext, type RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { recordRefusal } from "../../http/refusal_notes.ts";
import { ACK_HEADERS, answered, endpoints, textBody, written } from "../../openapi/describe.ts";
import { idOf, sentCountField, slug, traceparent } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { type HeartbeatResult, writeHeartbeat } from "./write_heartbeat.ts";
import { instantText } from "../../../domain/core/fields.ts";
import {
  COST_USD_MAX,
  LABEL_CHARS_MAX,
  NOTE_CHARS_MAX,
  RID_CHARS_MAX,
} from "../../../domain/core/limits.ts";
import { CRON_CHARS_MAX, TZ_CHARS_MAX } from "../../../domain/monitors/schedule.ts";

const label = z.string().max(LABEL_CHARS_MAX).optional();
const tokens = sentCountField.optional();

/** A duration such as `90s`, `15m`, `2h` or `1d`. */
const duration = z.string().meta({ pattern: "^[0-9]{1,9}[smhd]$" }).optional();

/** Maximum exit code of a ping: ten digits. */
const EXIT_CODE_MAX = 9_999_999_999;

/**
 * Fields of a heartbeat as query parameters, and those of a monitor; an empty one counts as absent, but
 * for `exit_code`.
 */
export const pingQuery = {
  agent: slug().optional().describe("The agent's slug; required unless a ping token supplies it."),
  status: heartbeatStatus.optional().describe("`ok` by default."),
  exit_code: z.int().min(-EXIT_CODE_MAX).max(EXIT_CODE_MAX).optional()
    .describe(
      "0 is `ok`, 124 is `timeout`, any other code is `fail`. Refused if empty, because its variable " +
        "is not set, if sent twice, and if `status` contradicts it.",
    ),
  id: idOf("run").optional().describe(
    "A new id when absent, or the run that a `start` without an id opened. With `id` or `rid` a " +
      "retry is safe.",
  ),
  rid: z.string().max(RID_CHARS_MAX).optional().describe(
    "Any text that names one run of the agent for 24 hours, instead of `id`: the end closes the " +
      "`start` of the same `rid`. Another run needs another `rid`.",
  ),
  started_at: instantText.optional()
    .describe(
      "By default `finished_at` minus `duration_ms` of up to 31 days, or the time of arrival.",
    ),
  finished_at: instantText.optional().describe("Time of arrival by default."),
  duration_ms: tokens.describe("Takes precedence over `started_at` and `finished_at`."),
  cost_usd: z.number().min(0).max(COST_USD_MAX).optional()
    .describe("Takes precedence over the price of the tokens, even if 0."),
  model: label.describe("Model that the tokens are priced by."),
  provider: label.describe("Provider of `model`."),
  input_tokens: tokens,
  output_tokens: tokens,
  cached_input_tokens: tokens,
  metadata: z.string().optional()
    .describe(
      `A note, truncated to ${NOTE_CHARS_MAX} characters; kept if the plan keeps metadata.`,
    ),
  every: duration.describe(
    "Creates a monitor if the agent has none: the time from one ping to the next.",
  ),
  cron: z.string().max(CRON_CHARS_MAX).optional().describe(
    "Creates a monitor if the agent has none: a cron expression. Not with `every`.",
  ),
  tz: z.string().max(TZ_CHARS_MAX).optional().describe("IANA time zone of `cron`; UTC by default."),
  grace: duration.describe("Time after the expected one until the monitor is down."),
};

const ping: Handler = async (c, deps, principal) => {
  const { grant } = principal;
  const query = parsePingQuery(queryOf(c));
  const refused = agentRefusalOf(principal, query.get("agent"));
  if (refused !== null) return fail(c, refused);
  const context = parseContext(c);
  const tokenAgent = grant.kind === "ping_token" ? grant.agent : null;
  const keepsNotes = context.metadataKeysMax > 0;
  const { body, rid, note, monitor, losses } = readPing(
    query,
    tokenAgent,
    keepsNotes,
    deps.parsePingMonitor,
  );
  const parsed = parseHeartbeat(body, context, losses);
  const request = { ...parsed.request, note };
  const outcome = await writeHeartbeat(deps, c, request, losses, { rid });

  const { id, kind } = outcome;
  const noMonitor = monitor.settings === null
    ? monitor.problem
    : await createMonitor(deps, c, outcome, monitor.settings, losses);
  const ignored = losses.ignoredNames ?? [];
  const notes: string[] = [];
  if (ignored.length > 0) {
    const message = ignoredText(ignored);
    notes.push(message);
    recordRefusal(deps, c, 200, { code: IGNORED_PARAMETER, message, field: ignored.join(", ") });
  }
  if (noMonitor !== null) notes.push(`no monitor: ${noMonitor}`);
  const headers = {
    "X-Run-Id": id,
    "Cache-Control": "no-store",
    ...writeHeaders(kind, losses.isEmpty ? null : losses, verdictOf(deps, c, outcome)),
  };
  if (!prefersJson(c.req.raw.headers.get("accept"))) {
    return answerText(c, 200, `${["OK", notes.join("\n")].join(" ").trim()}\n`, undefined, headers);
  }
  return answer(c, 200, pinged.write({ ...outcome, ignored, noMonitor }), headers);
};

/**
 * Creates the monitor that a ping asks for, if its agent has none. The ping is stored already: when the
 * store fails now, the answer reports it, and the next ping tries again.
 *
 * @returns why the monitor is not set; null if there is one
 */
async function createMonitor(
  { monitors, environment }: AppDeps,
  c: RequestContext,
  heartbeat: HeartbeatResult,
  settings: MonitorSettings,
  losses: Losses,
): Promise<string | null> {
  const { team, credentialId } = c.get("principal");
  // The outcome of the ping is the first that counts.
  const { opening, parts: { closing } } = heartbeat;
  const arrivedAt = Math.max(opening.receivedAt, closing?.receivedAt ?? 0);
  const at = heartbeat.kind === "stored" ? arrivedAt - 1 : environment.now();
  const made = { by: credentialId, at };
  try {
    await monitors.createMissing(team, heartbeat.opening.agent, settings, made);
    return null;
  } catch (error) {
    if (!isOfStore(error)) throw error;
    losses.drop("cron" in settings.schedule ? "cron" : "every");
    return "the store did not answer, the next ping tries again";
  }
}

/** Returns the verdict of pauses and budgets about the run of a heartbeat. */
function verdictOf(
  { guard }: AppDeps,
  c: RequestContext,
  { id, kind, opening, parts, cost }: HeartbeatResult,
): string | null {
  return guard.headerOf(c.get("principal"), id, () => {
    const { closing } = parts;
    const spent = opening.kind === "run" && closing !== null ? cost : null;
    const closedAt = closing?.receivedAt ?? opening.receivedAt;
    return { parts, spent, isNew: kind === "stored" && closedAt === opening.receivedAt };
  });
}

/** Returns when a heartbeat's close arrived, else its opening: retries get the same response. */
function receivedAtOf({ opening, parts }: HeartbeatResult): number {
  return parts.closing?.receivedAt ?? opening.receivedAt;
}

function hasCost({ opening, parts }: HeartbeatResult): boolean {
  const { cost, model } = reportedBy(parts);
  return opening.kind === "run" || cost !== undefined || model !== undefined;
}

const status = shape.wire<HeartbeatStatus>(heartbeatStatus);

const heartbeat = shape.object<HeartbeatResult>("Heartbeat", {
  id: shape.id("run")("id"),
  agent: shape.text(({ opening }) => opening.agent),
  status: status(({ parts }) => heartbeatStatusOf(statusOf(parts))),
  started_at: shape.instant(({ opening }) => opening.startedAt),
  finished_at: shape.instant.orNull(
    ({ parts }) => parts.closing?.finishedAt,
    "Null after a `start`.",
  ),
  received_at: shape.instant(receivedAtOf),
  cost_usd: shape.dollars(
    "cost",
    "The reported cost, else the price of the tokens, else 0. If `POST /v1/runs` opened the run, " +
      "what its events cost.",
  ),
  duration_ms: shape.integer.orNull(
    ({ opening, parts }) => durationOf(opening, parts.closing),
    "Null after a `start`.",
  ),
});

/** A stored ping, and what it did not do. */
interface PingResult extends HeartbeatResult {
  readonly ignored: readonly string[];
  readonly noMonitor: string | null;
}

const pinged = shape.object<PingResult>("Ping", {
  id: shape.id("run")("id"),
  agent: shape.text(({ opening }) => opening.agent),
  status: status(({ parts }) => heartbeatStatusOf(statusOf(parts))),
  received_at: shape.instant(receivedAtOf),
  // Left out unless the ping reported a cost or a model, to keep plain responses short.
  cost_usd: shape.dollars.optional(
    (result) => hasCost(result) ? result.cost : undefined,
    "Only if the ping has `cost_usd` or `model`, or `POST /v1/runs` opened the run.",
  ),
  ignored: shape.list(shape.text).optional(
    ({ ignored }) => ignored.length > 0 ? ignored : undefined,
    "Names of unknown parameters, which are ignored. Absent if there are none.",
  ),
  no_monitor: shape.text.optional(
    ({ noMonitor }) => noMonitor ?? undefined,
    "Why the ping does not set the monitor that it asks for; one that exists stays as it is. Absent " +
      "if it is created, or is there.",
  ),
});

/** Endpoints that record a complete run in one call, as JSON or from a shell. */
export const HEARTBEAT_ENDPOINTS = endpoints("Heartbeats", {
  sendHeartbeat: {
    route: "POST /v1/heartbeats",
    access: KEY_OR_TOKEN,
    handler: async (c, deps, principal) => {
      const body = c.get("body");
      const refused = agentRefusalOf(principal, body.value.agent);
      if (refused !== null) return fail(c, refused);
      const losses = new Losses();
      const parsed = parseHeartbeat(body, parseContext(c), losses);
      const outcome = await writeHeartbeat(deps, c, parsed.request, losses);
      const json = heartbeat.write(outcome);
      const lost = losses.isEmpty ? null : losses;
      return answerWrite(c, outcome.kind, json, lost, verdictOf(deps, c, outcome));
    },
    summary: "Record a complete run",
    description: "Status `start` opens a run and leaves it open; a later heartbeat with the same " +
      "`id` closes it. The first close wins, and no heartbeat reopens a run. Returns 409 when the `id` " +
      "is stored with another `agent` or, if one was sent, another `started_at`. On a run that " +
      "`POST /v1/runs` opened, the cost and the tokens of a heartbeat do not count, and " +
      "`Runledger-Dropped` names them. Counts as one event.",
    headers: traceparent,
    body: heartbeatBody.meta({ id: "HeartbeatRequest" }),
    answers: written(heartbeat, ACK_HEADERS),
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
    links: ["getRun", "getRunCost", "finishRun", "addScore"],
    idempotency: "id",
  },
  ping: {
    route: "GET /v1/ping",
    access: KEY_OR_TOKEN,
    handler: ping,
    summary: "Record a complete run from a shell",
    description: "Sends a heartbeat as query parameters. The response is JSON if `Accept` lists " +
      "`application/json` with at least the weight of `text/plain`. Errors are one line of text " +
      "that begins with the code. Counts as one event. A ping without `id` closes the newest run that " +
      "a `start` without `id` opened within 24 hours, with `rid` the one of the same `rid`; its start " +
      "counts, not a `started_at` of the end. If there is none, it is a complete run. `every` or " +
      "`cron` create a monitor once. The text after `OK` names ignored parameters, and says why a " +
      "monitor is not created; the ping is stored.",
    hasHead: true,
    query: pingQuery,
    headers: {
      Accept: z.string().optional().describe(
        "`application/json` for a JSON response; weights such as `;q=0.5` are supported.",
      ),
      ...traceparent,
    },
    answers: [{
      ...answered(200, "Stored, now or previously.", textBody("text/plain")),
      also: { "application/json": pinged.schema },
      headers: ["X-Run-Id", "Cache-Control", "Idempotent-Replayed", ...ACK_HEADERS],
    }],
    errors: ["invalid_id", "missing_field", "unknown_region", "agent_cap_reached", "id_conflict"],
    errorsAs: "text",
    idempotency: "id",
  },
});
