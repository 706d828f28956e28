/** The context of a request, and the parts of the application that serve it. */
import type { Context } from "hono";
import type { AgentStore } from "../../domain/agents/agents.ts";
import type { CredentialStore } from "../../domain/teams/key_list.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { RateCardStore } from "../../domain/pricing/rate_card.ts";
import type { RunStore } from "../../domain/runs/store.ts";
import type { SpendStore } from "../../domain/spend/rollup.ts";
import type { UsageStore } from "../../domain/teams/quota_notice.ts";
import type { RunListStore } from "../../domain/runs/list.ts";
import type { RepriceStore } from "../../domain/repricing/job.ts";
import type { RefusalStore } from "../../domain/refusals/refusals.ts";
import type { DeletionStore } from "../../domain/retention/deletion.ts";
import type { SessionStore } from "../../domain/teams/session.ts";
import type { AuditLogStore } from "../../domain/teams/audit_log.ts";
import type { TeamStore } from "../../domain/teams/team_change.ts";
import type { ChangeStore } from "../../domain/feed/changes.ts";
import type { LiveFeed } from "../../domain/feed/live.ts";
import type { DeadStageStore } from "../../domain/runs/processing.ts";
import type { Deadlines } from "../../domain/core/deadlines.ts";
import type { Principal, Requirement } from "../../domain/teams/credentials.ts";
import type { Problem } from "../../domain/core/errors.ts";
import type { Memory } from "../../domain/core/memory.ts";
import type { ReadScopes } from "../../domain/core/read_scope.ts";
import type { LineageStore } from "../../domain/runs/lineage.ts";
import type { Region } from "../../domain/core/ids.ts";
import type { RequestMetrics } from "../../domain/metrics/requests.ts";
import type { MetricFamily } from "../../domain/metrics/text.ts";
import type { ScoreStore } from "../../domain/runs/scores.ts";
import type { Body } from "../../domain/core/body.ts";
import type { ParseContext } from "../../domain/ingest/form.ts";
import type { BodyShape } from "../../domain/ingest/parse.ts";
import type { RequestLimits } from "../../domain/teams/rate_limit.ts";
import type { TokenBucket } from "../../domain/core/token_bucket.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";

/** Facts of one request. Each is set by the guard of its name before the handler runs. */
export interface Env {
  /** What the server knows of the connection. */
  Bindings: { readonly remoteAddr: Deno.Addr };
  Variables: {
    requestId: string;
    /** Method and pattern, such as `POST /v1/runs/:id/finish`; never a path with ids. */
    route: string;
    principal: Principal;
    /** What is left of the team's rate, and what it is, as header values; absent without a limit. */
    rate: string | undefined;
    ratePolicy: string | undefined;
    /** The bucket that the request took its token from; absent without a limit. */
    bucket: TokenBucket;
    body: Body;
    /** Fields of a form, of pages' own requests. */
    form: URLSearchParams;
    /** What the body takes until the request is answered. */
    bodyLease: Disposable;
    /** Set where the text of the answer is long, so that it leaves in parts. */
    isLong: boolean;
    /** Menu and files of the dashboard's pages; absent elsewhere. */
    shell: PageShell;
    /** Renders problems, where not as JSON. */
    renderProblem: Refuse | undefined;
    /** Why the request was refused: for the log and for what is counted. */
    problem: Problem;
  };
}

/** Menu and files that the pages of the dashboard share. */
export interface PageShell {
  readonly menu: readonly MenuEntry[];
  /** Returns the path of a file that pages load. */
  readonly assetPath: (name: string) => string;
}

/** A link of the menu, for those who may open its page. */
export interface MenuEntry {
  readonly name: string;
  readonly path: string;
  readonly access: Requirement;
}

export type RequestContext = Context<Env>;

/** Answers with a refusal and its headers. */
export type Refuse = (
  c: RequestContext,
  problem: Problem,
  headers: Record<string, string>,
) => Response;

/** Answers a request that every guard let through. */
export type Handle = (c: RequestContext) => Response | Promise<Response>;

/** Lets a request through with `null`, or answers in the handler's place. */
export type Guard = (c: RequestContext) => Response | null | Promise<Response | null>;

/** Parts that the routes are built from; nothing here is created per request. */
export interface AppDeps {
  readonly region: Region;
  /** Whether this is `deno task dev`, which answers under local names only. */
  readonly dev: boolean;
  readonly runs: RunStore;
  readonly runList: RunListStore;
  readonly scores: ScoreStore;
  readonly lineage: LineageStore;
  readonly credentials: CredentialStore;
  readonly sessions: SessionStore;
  /** Signs in by a link from this very machine; null where there is none. */
  readonly signInLink: SignInLink | null;
  readonly teams: TeamStore;
  readonly auditLog: AuditLogStore;
  readonly spend: SpendStore;
  readonly usage: UsageStore;
  readonly agents: AgentStore;
  readonly rateCards: RateCardStore;
  readonly reprices: RepriceStore;
  readonly deletions: DeletionStore;
  readonly refusals: RefusalStore;
  readonly changes: ChangeStore;
  readonly live: LiveFeed;
  readonly deadStages: DeadStageStore;
  readonly environment: Environment;
  /** Rate limits of teams. */
  readonly limits: RequestLimits;
  /** How long clients may take to send a body. */
  readonly bodyDeadlines: Deadlines;
  /** Metrics of the process and its teams. */
  readonly metrics: Metrics;
  /** Whether the store answers. */
  readonly ready: () => Promise<boolean>;
  /** Whether the process is shutting down. */
  readonly draining: () => boolean;
  /** Aborted when the process shuts down: long polls are answered then. */
  readonly shuttingDown: AbortSignal;
  /** Counts what requests read, and ends it with them. */
  readonly reading: ReadScopes;
  /** How many bytes bodies and answers may take. */
  readonly memory: Memory;
  /** Takes one line for the request log. */
  readonly log: (line: string) => void;
}

/** A link that signs in the person who started the service. */
export interface SignInLink {
  /** The code in the link. */
  readonly code: string;
  /** The key that it stands for. */
  readonly secret: string;
}

/** Metrics, by who may see them. */
export interface Metrics {
  /** Requests, in all and by team. */
  readonly requests: RequestMetrics;
  /** Metrics of no single team: the process, the store, the worker. */
  readonly ofProcess: () => Promise<MetricFamily[]>;
}

/** How a route is reached, and what its guards ask for. */
export interface RouteRule {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Requirement on the credential; `null` for routes without one. */
  readonly access: Requirement | null;
  /** Shape of a large body; one of the control API is small. */
  readonly bodyShape?: BodyShape;
  /** Whether a request without a body is one with an empty object. */
  readonly mayLackBody?: boolean;
  /** Whether HTTP/1.0 may ask, which has no Host. */
  readonly mayLackHost?: boolean;
  /** Whether it is served under overload. */
  readonly servesUnderOverload?: boolean;
}

/** One row of the route table. */
export interface Route extends RouteRule {
  readonly handler: Handle;
}

/** What parsing depends on besides the body. */
export function parseContext(c: RequestContext): ParseContext {
  return {
    metadataKeysMax: planOfTeam(c.get("principal").team).metadataKeysMax,
    traceparent: c.req.raw.headers.get("traceparent"),
    sdkWords: c.req.raw.headers.get("user-agent")?.startsWith("agentping-") ?? false,
  };
}
