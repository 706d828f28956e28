/**
 * Traces of OpenTelemetry over HTTP, in protobuf and JSON: a trace is a run (`docs/CONNECT.md`).
 */
import { type Problem, refuse, unlessRefused } from "../../domain/core/errors.ts";
import type { Steps } from "../../domain/core/steps.ts";
import { parseSecret } from "../../domain/teams/credentials.ts";
import { mapSpans, type RunSpans } from "../../domain/otlp/map.ts";
import { productsOf } from "../../domain/otlp/products.ts";
import {
  attributeFilter,
  type CheckedSpans,
  checkSpans,
  type ResourceSpans,
} from "../../domain/otlp/span.ts";
import { AGENT_CHARS_MAX } from "../../domain/core/limits.ts";
import { cutText, printable } from "../../domain/core/text.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import { authorize, teamKey } from "../http/access.ts";
import type { HandlerDeps } from "../http/admission.ts";
import { fail, OVERLOADED } from "../http/answer.ts";
import { readBytes } from "../http/body.ts";
import type { Guard, Handle, RequestContext, Route } from "../http/context.ts";
import { credentialAuth } from "../http/credential.ts";
import { TurnClock } from "../http/in_turns.ts";
import { debitBytes, limitBytes, limitRate } from "../http/rate.ts";
import { requireHost } from "../http/target.ts";
import {
  answerStored,
  type Encoding,
  encodingOf,
  type PartialSuccess,
  refuseWithStatus,
} from "./answer.ts";
import { readJson } from "./json.ts";
import { JSON_BYTES_MAX, PROTOBUF_BYTES_MAX } from "./limits.ts";
import { MalformedBody, readProtobuf, SPANS_MAX, TOO_MANY_SPANS, TooLarge } from "./protobuf.ts";

/** Prefixes of the paths: the standard's, and those that the SDKs of other products add to a host. */
const PREFIXES = ["/v1", "/api/public/otel/v1", "/otel/v1"];

/** Maximum bytes of a body, also after inflating. */
const BYTES_MAX: Readonly<Record<Encoding, number>> = {
  protobuf: PROTOBUF_BYTES_MAX,
  json: JSON_BYTES_MAX,
};

/** Maximum spans that one commit stores. */
const SLICE_SPANS = 99;

/** Runs of a request that are stored at a time. */
const RUNS_AT_ONCE = 16;

/** Milliseconds after which a request is answered: exporters give up after ten seconds. */
const STORING_MS_MAX = 8_000;

/** Bursts of body bytes by which a team may be in debt: exporters drop what is refused for long. */
const SPARE_BURSTS = 1;

/** Creates the routes, with the guards that all of them share. */
export function createOtlp(deps: HandlerDeps): {
  readonly routes: readonly Route[];
  readonly guards: readonly Guard[];
} {
  const { admission } = deps;
  const access = teamKey("ingest");
  const route = (signal: string, handler: Handle) =>
    PREFIXES.map((prefix): Route => ({
      method: "POST",
      path: `${prefix}/${signal}`,
      access,
      handler,
    }));
  const ignore = ignoreSignal(deps);
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const asStatus: Guard = (c) => {
    c.set("renderProblem", refuseWithStatus);
    return null;
  };
  return {
    routes: [
      ...route("traces", (c) => storeTraces(c, deps)),
      ...route("logs", ignore),
      ...route("metrics", ignore),
    ],
    guards: [
      asStatus,
      requireHost(deps),
      whileServing,
      admission.require,
      authorize(access, credentialAuth(deps, secretOf), [
        limitRate(deps, "ingest"),
        limitBytes(deps, SPARE_BURSTS),
      ]),
      requireEncoding,
      readBytes(
        deps.bodyDeadlines,
        admission,
        (c) => BYTES_MAX[encodingOf(c) ?? "json"],
        (c, bytes) => debitBytes(deps, c, bytes),
      ),
      admission.require,
    ],
  };
}

const SHUTTING_DOWN: Problem = {
  code: "shutting_down",
  message: "The server is shutting down: retry after the delay in Retry-After",
};

function requireEncoding(c: RequestContext): Response | null {
  if (encodingOf(c) !== null) return null;
  return fail(c, {
    code: "unsupported_media_type",
    message: "Send Content-Type: application/x-protobuf or application/json",
  });
}

/**
 * Returns the credential of an exporter: as the API accepts it, and as other products' SDKs send one:
 * as the password of Basic, without a scheme, percent-encoded, or in `x-api-key`.
 */
function secretOf(c: RequestContext): string | null {
  const { headers } = c.req.raw;
  const authorization = headers.get("authorization")?.trim();
  if (authorization === undefined) {
    return headers.get("x-api-key")?.trim() ?? headers.get("x-agentping-key")?.trim() ?? null;
  }
  const [scheme = "", ...rest] = authorization.replace(/^Bearer%20/i, "Bearer ").split(/ +/);
  if (rest.length === 0) return scheme;
  if (rest.length > 1) return null;
  if (/^bearer$/i.test(scheme)) return rest[0] ?? null;
  return /^basic$/i.test(scheme) ? secretOfBasic(rest[0] ?? "") : null;
}

/** Returns the user or the password of Basic, whichever looks like a credential. */
function secretOfBasic(value: string): string | null {
  try {
    const [user = "", ...password] = atob(value).split(":");
    const both = [password.join(":"), user];
    return both.find((secret) => ["eu", "us"].some((region) => isSecret(secret, region))) ?? null;
  } catch {
    return null;
  }
}

function isSecret(secret: string, region: string): boolean {
  return unlessRefused(() => parseSecret(secret, region as "eu" | "us"), () => null) !== null;
}

async function storeTraces(c: RequestContext, deps: HandlerDeps): Promise<Response> {
  const encoding = encodingOf(c) ?? "json";
  const { headers } = c.req.raw;
  const keepsContent = headers.get("x-runledger-content")?.trim().toLowerCase() !== "drop";
  const clock = new TurnClock();
  const read = readSpans(c.get("bytes"), encoding, keepsContent);
  const { spans, rejected } = await inTurns(read, clock);
  const agent = cutText(printable(headers.get("x-runledger-agent") ?? "").trim(), AGENT_CHARS_MAX);
  const options = { region: deps.region, agent: agent === "" ? null : agent, keepsContent };
  const { runs, dropped } = await inTurns(mapSpans(spans, options), clock);
  const stored = await storeRuns(c, deps, runs, clock);
  if (stored === null) return fail(c, OVERLOADED);
  const { id: team } = c.get("principal").team;
  for (const product of productsOf(spans)) {
    deps.productUses.note(team, product, deps.environment.now());
  }
  const reasons = new Map<string, number>(rejected);
  if (stored.ofDeleted > 0) reasons.set("deleted_run", stored.ofDeleted);
  const warning = isSnakeCase(c.get("bytes"), encoding, spans.length) ? SNAKE_CASE : null;
  return answerStored(c, encoding, partialOf(reasons) ?? warning, droppedHeader(c, dropped, runs));
}

/** Does work in steps: large bodies leave turns to other requests. */
async function inTurns<Result>(steps: Steps<Result>, clock: TurnClock): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const pause = clock.pause();
    if (pause !== null) await pause;
  }
}

/** Decodes and checks the spans of a body. */
function* readSpans(
  bytes: Uint8Array,
  encoding: Encoding,
  keepsContent: boolean,
): Steps<CheckedSpans> {
  let sent: readonly ResourceSpans[];
  try {
    const filter = attributeFilter(keepsContent);
    sent = encoding === "json"
      ? yield* readJson(new TextDecoder().decode(bytes), filter)
      : yield* readProtobuf(bytes, filter);
  } catch (error) {
    if (error instanceof TooLarge) return refuse("payload_too_large", error.message);
    if (error instanceof MalformedBody) return refuse("invalid_json", `${error.message}`);
    throw error;
  }
  const count = sent.reduce(
    (sum, { scopes }) => scopes.reduce((spans, one) => spans + one.spans.length, sum),
    0,
  );
  if (count > SPANS_MAX) return refuse("payload_too_large", TOO_MANY_SPANS);
  const value = checkSpans(sent);
  if (count > 0 && value.rejected.get("bad_ids") === count) {
    const message = "No span has valid ids: these look like logs, which are not stored";
    return refuse("invalid_field", message);
  }
  return value;
}

/**
 * Stores the events of runs in slices, each in a commit of its own. What is stored when the time is over
 * returns as duplicates when the exporter repeats the request.
 *
 * @returns the spans of deleted runs; null if the time is over
 */
async function storeRuns(
  c: RequestContext,
  { runs: store, environment }: HandlerDeps,
  runs: readonly RunSpans[],
  clock: TurnClock,
): Promise<{ readonly ofDeleted: number } | null> {
  const { team } = c.get("principal");
  const startedMs = performance.now();
  let ofDeleted = 0;
  let isLate = false;
  const storeRun = async ({ run, events, facts }: RunSpans) => {
    for (let at = 0; at < events.length && !isLate; at += SLICE_SPANS) {
      // To price and compress a slice takes up to some milliseconds before its commit waits.
      const pause = clock.pause();
      if (pause !== null) await pause;
      const slice = events.slice(at, at + SLICE_SPANS);
      const hasMore = at + SLICE_SPANS < events.length;
      const outcome = await store.append(team, run, slice, environment.now(), facts, hasMore);
      if (outcome.kind === "conflict") ofDeleted += slice.length;
      isLate ||= performance.now() - startedMs > STORING_MS_MAX;
    }
  };
  const queue = runs.values();
  const workers = Array.from({ length: Math.min(runs.length, RUNS_AT_ONCE) }, async () => {
    for (const run of queue) await storeRun(run);
  });
  await Promise.all(workers);
  return isLate ? null : { ofDeleted };
}

/** Names the spans that were rejected; null for none. */
function partialOf(reasons: ReadonlyMap<string, number>): PartialSuccess | null {
  const rejected = reasons.values().reduce((sum, count) => sum + count, 0);
  if (rejected === 0) return null;
  const message = Array.from(reasons, ([reason, count]) => `${count} ${REASONS[reason] ?? reason}`);
  return { rejected, message: message.join("; ") };
}

const REASONS: Readonly<Record<string, string>> = {
  bad_ids: "with ids that are not 16 and 8 bytes, or are zero",
  bad_instants: "with an instant outside of 1970 to 9999",
  deleted_run: "of a run that was deleted",
};

const SNAKE_CASE: PartialSuccess = {
  rejected: 0,
  message: "The body has resource_spans and no resourceSpans: OTLP in JSON has lowerCamelCase keys",
};

/** Returns whether a body without spans has keys in another case. */
function isSnakeCase(bytes: Uint8Array, encoding: Encoding, spans: number): boolean {
  if (encoding !== "json" || spans > 0 || bytes.length > SNAKE_CASE_BYTES_MAX) return false;
  return new TextDecoder().decode(bytes).includes('"resource_spans"');
}

const SNAKE_CASE_BYTES_MAX = 65_536;

/** Returns the header that names spans without AI work, and metadata beyond the plan's limit. */
function droppedHeader(
  c: RequestContext,
  dropped: number,
  runs: readonly RunSpans[],
): Record<string, string> {
  const { metadataKeysMax } = planOfTeam(c.get("principal").team);
  const metadata = runs.reduce(
    (sum, { facts }) => sum + Math.max(0, (facts.metadata?.length ?? 0) - metadataKeysMax),
    0,
  );
  const names = [
    ...dropped > 0 ? [`spans=${dropped}`] : [],
    ...metadata > 0 ? [`metadata=${metadata}`] : [],
  ];
  return names.length === 0 ? {} : { "Runledger-Dropped": names.join(", ") };
}

/** Answers logs and metrics, of which nothing is stored: a 404 would be repeated every minute. */
function ignoreSignal({ log, environment }: HandlerDeps): Handle {
  let isSaid = false;
  return (c) => {
    if (!isSaid) {
      isSaid = true;
      const at = formatInstant(environment.now());
      const note = "Logs and metrics of OpenTelemetry are not stored: set OTEL_LOGS_EXPORTER and " +
        "OTEL_METRICS_EXPORTER to none";
      log(JSON.stringify({ at, note }));
    }
    return answerStored(c, encodingOf(c) ?? "json", null);
  };
}
