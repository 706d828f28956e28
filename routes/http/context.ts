/** Request context, and the dependencies of routes. */
import type { Context } from "hono";
import type { OpenIncidents } from "../../domain/alerts/incident.ts";
import type { Judge } from "../../domain/judges/judge.ts";
import type { Patterns } from "../../domain/checks/program.ts";
import type { Body } from "../../domain/core/body.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Problem } from "../../domain/core/errors.ts";
import type { Region } from "../../domain/core/ids.ts";
import type { ReadScopes } from "../../domain/core/read_scope.ts";
import type { ChangeStore, LiveFeed } from "../../domain/feed/changes.ts";
import type { ParseContext } from "../../domain/ingest/form.ts";
import type { BodyShape } from "../../domain/ingest/large_body.ts";
import type { parsePingMonitor } from "../../domain/ingest/ping.ts";
import type { RunStore } from "../../domain/runs/run_store.ts";
import type { Principal, Requirement } from "../../domain/teams/credentials.ts";
import type { MadeBy } from "../../domain/teams/team.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import type { QuotaUse } from "../../domain/teams/quota.ts";
import type { Deadlines } from "../../runtime/deadlines.ts";
import type { Memory } from "../../runtime/memory.ts";
import type { MetricFamily, RequestMetrics } from "../../runtime/metrics.ts";
import type { Api, RequestLimits, TokenBucket } from "../../runtime/rate_limit.ts";
import type { AuditLogStore } from "../../kv/teams/audit_log.ts";
import type { createBudgetGroups } from "../../kv/budgets/groups.ts";
import type { RunGuard } from "../../kv/budgets/guard.ts";
import type { CheckStatsStore } from "../../kv/checks/stats.ts";
import type { RulePreviews } from "../../kv/alerts/preview.ts";
import type { ObjectStores } from "../../kv/config/object_store.ts";
import type { JudgeState } from "../../kv/judges/judge_states.ts";
import type { JudgeTrials } from "../../kv/judges/trials.ts";
import type { CheckTrialStore } from "../../kv/checks/check_trial.ts";
import type { MonitorStore } from "../../kv/monitors/store.ts";
import type { LastUses } from "../../kv/teams/last_uses.ts";
import type { RefusalStore } from "../../kv/refusals/refusal_store.ts";
import type { RunListStore } from "../../kv/run_list/run_list.ts";
import type { LineageStore } from "../../kv/runs/lineage.ts";
import type { DeadStageStore } from "../../kv/runs/run_work.ts";
import type { ScoreStore } from "../../kv/runs/scores.ts";
import type { SessionStore } from "../../kv/teams/sessions.ts";
import type { TeamStore } from "../../kv/teams/teams.ts";
import type { UsageStore } from "../../kv/teams/usage.ts";
import type { IncidentStore } from "../../kv/alerts/incidents.ts";
import type { DeliveryStore } from "../../kv/channels/deliveries.ts";
import type { ChannelTester } from "../../kv/channels/tester.ts";
import type { AgentStore } from "../../kv/agents/agents.ts";
import type { CredentialStore } from "../../kv/teams/credentials.ts";
import type { RepriceStore } from "../../kv/repricing/reprice_work.ts";
import type { SpendStore } from "../../kv/spend/rollups.ts";
import type { ChannelStore } from "../../kv/channels/store.ts";
import type { DeletionStore } from "../../kv/retention/deletion_work.ts";
import type { RateCardStore } from "../../kv/rate_cards/rate_cards.ts";

/** Returns the address that a request came from, a proxy's behind one; null where it is unknown. */
export function addressOf(c: RequestContext): string | null {
  const remote: Deno.Addr | undefined = c.env?.remoteAddr;
  return remote !== undefined && "hostname" in remote ? remote.hostname : null;
}

/** Variables of one request; guards set them before the handler runs. */
export interface Env {
  /** Connection details from the server. */
  Bindings: { readonly remoteAddr: Deno.Addr };
  Variables: {
    requestId: string;
    /** Method and pattern, such as `POST /v1/runs/:id/finish`; never a path with ids. */
    route: string;
    principal: Principal;
    /** Values of the RateLimit headers; absent without a limit. */
    rate: string | undefined;
    ratePolicy: string | undefined;
    /** The bucket that the request took its token from; absent without a limit. */
    bucket: TokenBucket;
    body: Body;
    /** The body of a route that reads bytes. */
    bytes: Uint8Array;
    /** Form fields of dashboard requests. */
    form: URLSearchParams;
    /** Memory and slot of the body, held until the request is answered. */
    bodyLease: Disposable;
    /** True if the response is long, and is sent in parts. */
    isLong: boolean;
    /** Frame of dashboard pages; absent elsewhere. */
    frame: PageFrame;
    /** Renders errors in place of the JSON error; undefined for JSON. */
    renderProblem: Refuse | undefined;
    /** Error of a refused request, for the log and the metrics. */
    problem: Problem;
  };
}

/** Services that the frame of every dashboard page needs. */
export interface PageFrame {
  readonly menu: readonly MenuEntry[];
  /** True if an operator manages teams and plans; else there is one team, and no plan is shown. */
  readonly hasOperator: boolean;
  /** Time of the request, unix milliseconds. */
  readonly nowMs: number;
  /** Incidents that the top bar counts; absent without a team's session. */
  readonly open?: OpenIncidents;
  /** Events of the month; absent without a team's session, and where no plan is shown. */
  readonly quota?: QuotaUse;
}

/** A menu link, listed for principals that may open its page. */
export interface MenuEntry {
  readonly name: string;
  readonly path: string;
  readonly access: Requirement;
  /** Part of the menu: the top bar, or the tabs of the settings. */
  readonly area: "main" | "settings";
}

export type RequestContext = Context<Env>;

/** Answers with an error and its headers. */
export type Refuse = (
  c: RequestContext,
  problem: Problem,
  headers: Record<string, string>,
) => Response;

/** Answers a request that passed every guard. */
export type Handle = (c: RequestContext) => Response | Promise<Response>;

/** Lets a request through with `null`, or answers instead of the handler. */
export type Guard = (c: RequestContext) => Response | null | Promise<Response | null>;

/** Dependencies of routes; none is created per request. */
export interface AppDeps {
  readonly region: Region;
  /** True for `deno task dev`, which accepts local host names only. */
  readonly dev: boolean;
  /** True if an operator's key is set; else the service has one team. */
  readonly hasOperator: boolean;
  readonly runs: RunStore;
  readonly runList: RunListStore;
  readonly scores: ScoreStore;
  readonly lineage: LineageStore;
  readonly credentials: CredentialStore;
  readonly sessions: SessionStore;
  /** Link that signs in from this machine; null without one. */
  readonly signInLink: SignInLink | null;
  /** Loads sample runs into the development team if it is empty; null outside `deno task dev`. */
  readonly loadSamples: (() => Promise<void>) | null;
  readonly teams: TeamStore;
  readonly auditLog: AuditLogStore;
  readonly spend: SpendStore;
  readonly usage: UsageStore;
  readonly agents: AgentStore;
  readonly monitors: MonitorStore;
  /** Parses the monitor that a ping asks for; keeps the latest. */
  readonly parsePingMonitor: typeof parsePingMonitor;
  readonly checkStats: CheckStatsStore;
  readonly checkTrial: CheckTrialStore;
  /** Compiles the patterns of checks; keeps the latest. */
  readonly patterns: Patterns;
  /** Reads the states of judges as they are now, in their order. */
  readonly judgeStates: (
    team: Pick<Principal["team"], "id">,
    judges: readonly Judge[],
  ) => Promise<readonly JudgeState[]>;
  readonly judgeTrials: JudgeTrials;
  /** Names of the connections to models. */
  readonly judgeConnections: readonly string[];
  /** Stores of configured objects. */
  readonly objects: ObjectStores;
  readonly rulePreviews: RulePreviews;
  readonly incidents: IncidentStore;
  /** Judges runs by budgets and pauses. */
  readonly guard: RunGuard;
  /** Deadlines of checks by the guard. */
  readonly guardDeadlines: Deadlines;
  /** Judges the groups of budgets of each; null if there are too many to read. */
  readonly budgetGroups: ReturnType<typeof createBudgetGroups>;
  readonly channels: ChannelStore;
  readonly deliveries: DeliveryStore;
  readonly channelTester: ChannelTester;
  readonly rateCards: RateCardStore;
  readonly reprices: RepriceStore;
  readonly deletions: DeletionStore;
  readonly refusals: RefusalStore;
  /** Times at which products last sent traces. */
  readonly productUses: Pick<LastUses, "note" | "read">;
  readonly changes: ChangeStore;
  readonly live: LiveFeed;
  readonly deadStages: DeadStageStore;
  /** Origin of links in messages; null without one (decision 55). */
  readonly publicUrl: string | null;
  readonly environment: Environment;
  readonly limits: RequestLimits;
  /** Deadlines for receiving bodies. */
  readonly bodyDeadlines: Deadlines;
  /** Metrics of the process and its teams. */
  readonly metrics: Metrics;
  /** Returns whether the store responds. */
  readonly ready: () => Promise<boolean>;
  /** Returns whether the process is shutting down. */
  readonly draining: () => boolean;
  /** Aborts when the process shuts down; long polls are then answered. */
  readonly shuttingDown: AbortSignal;
  /** Counts the reads of requests, and cancels them with the request. */
  readonly reading: ReadScopes;
  /** Memory limits of bodies and responses. */
  readonly memory: Memory;
  /** Maximum milliseconds that a response may send nothing; Infinity for no limit. */
  readonly silentMsMax: number;
  /** Writes one line to the request log. */
  readonly log: (line: string) => void;
}

/** A link that signs in the person who started the service. */
export interface SignInLink {
  readonly code: string;
  /** The key that the code signs in with. */
  readonly secret: string;
}

/** Metrics of teams and of the process. */
export interface Metrics {
  /** Requests, in total and per team. */
  readonly requests: RequestMetrics;
  /** Metrics of the process, the store and the worker. */
  readonly ofProcess: () => Promise<MetricFamily[]>;
}

/** Method and path of a route, and the options of its guards. */
export interface RouteRule {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Required credential; `null` for public routes. */
  readonly access: Requirement | null;
  /** Shape of a large body; bodies of the control API are small. */
  readonly bodyShape?: BodyShape;
  /** True if an empty body counts as an empty object. */
  readonly mayLackBody?: boolean;
  /** True if an empty list counts as an empty object, which PHP sends so. */
  readonly mayBeList?: boolean;
  /** Bucket of the request rate, if it is not that of the scope. */
  readonly bucket?: Api;
  /** True if the Host header may be absent, as in HTTP/1.0. */
  readonly mayLackHost?: boolean;
  /** True if the route is served under overload. */
  readonly servesUnderOverload?: boolean;
}

/** One row of the route table. */
export interface Route extends RouteRule {
  readonly handler: Handle;
}

/** Returns the inputs of parsing other than the body. */
export function parseContext(c: RequestContext): ParseContext {
  return {
    metadataKeysMax: planOfTeam(c.get("principal").team).metadataKeysMax,
    traceparent: c.req.raw.headers.get("traceparent"),
    sdkWords: c.req.raw.headers.get("user-agent")?.startsWith("agentping-") ?? false,
  };
}

/** Runs the guards in order, starting at index `start`; the first refusal is the response. */
export function runGuards(
  c: RequestContext,
  guards: readonly Guard[],
  start = 0,
): Response | null | Promise<Response | null> {
  for (let next = start; next < guards.length; next++) {
    const verdict = guards[next]?.(c) ?? null;
    if (verdict === null) continue;
    if (!(verdict instanceof Promise)) return verdict;
    return verdict.then((refusal) => refusal ?? runGuards(c, guards, next + 1));
  }
  return null;
}

/** Returns the author of a change that a request makes now. */
export function madeBy(c: RequestContext, { environment }: AppDeps): MadeBy {
  return { by: c.get("principal").credentialId, at: environment.now() };
}
