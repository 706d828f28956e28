/** Endpoints of the service itself: health, metrics, and API documentation. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { answer, answerText, fail } from "../../http/answer.ts";
import {
  gauge,
  type MetricFamily,
  METRICS_TYPE,
  metricsText,
  type Sample,
} from "../../../runtime/metrics.ts";
import { MONITORS_PER_PAGE } from "../../../domain/monitors/row.ts";
import type { MonitorStore } from "../../../kv/monitors/store.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import { Overloaded } from "../../../domain/core/errors.ts";
import { VERSION } from "../../../domain/core/version.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { showReference } from "../../docs/reference.ts";
import { staticResponse } from "../../http/compress.ts";
import { returns } from "../answers.ts";
import { z } from "zod";
import { endpoints, ok, tagged, textBody } from "../../openapi/describe.ts";
import { ifNoneMatch } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import type { IncidentStore } from "../../../kv/alerts/incidents.ts";

const health = shape.object("Health", {
  status: shape.wire(z.literal("ok"))(() => "ok"),
  version: shape.wire(z.string())(() => VERSION),
});

const readiness = shape.object("Readiness", {
  status: shape.wire(z.literal("ready"))(() => "ready"),
});

/** Refuses requests during shutdown. */
export const SHUTTING_DOWN = {
  code: "shutting_down",
  message: "This instance is shutting down: send the request again",
} as const;

/** Returns the usage of the current month, and the included events where the plan has a limit. */
async function quotaFamilies(team: Team, usage: AppDeps["usage"], nowMs: number) {
  const used = await usage.used(team.id, monthOf(nowMs));
  const included = planOfTeam(team).eventsPerMonth;
  return [
    gauge("runledger_quota_used_events", "Events counted in this month, in UTC.", used),
    ...included === Infinity ? [] : [
      gauge("runledger_quota_included_events", "Events that the plan includes a month.", included),
    ],
  ];
}

/** Maximum monitors in the metrics of a team: their agents are labels. */
const MONITOR_LABELS_MAX = 1_000;

/** Returns nothing while the reads of the team are overloaded: its other metrics need none. */
async function unlessOverloaded(families: Promise<MetricFamily[]>): Promise<MetricFamily[]> {
  try {
    return await families;
  } catch (error) {
    if (error instanceof Overloaded) return [];
    throw error;
  }
}

/** Returns the numbers of incidents that are not resolved. */
async function incidentFamilies(team: Team, store: IncidentStore): Promise<MetricFamily[]> {
  const open = await store.openCounts(team);
  const samples = SEVERITIES.map((severity) => ({ labels: { severity }, value: open[severity] }));
  return [gauge("runledger_incidents_open", "Incidents that are not resolved.", samples)];
}

/**
 * Returns whether each of the first monitors that is judged is up, as a sample with its agent. Only the team's own keys
 * read them: no other team learns the slugs.
 */
async function monitorFamilies(team: Team, store: MonitorStore): Promise<MetricFamily[]> {
  const samples: Sample<number>[] = [];
  let after: string | null = null;
  for (let left = MONITOR_LABELS_MAX; left > 0; left -= MONITORS_PER_PAGE.max) {
    const query = { state: null, limit: Math.min(left, MONITORS_PER_PAGE.max), after };
    const page: Awaited<ReturnType<MonitorStore["list"]>> = await store.list(team, query);
    for (const { monitor: { agent, state } } of page.monitors) {
      if (state === "new" || state === "paused") continue;
      samples.push({ labels: { agent }, value: state === "down" ? 0 : 1 });
    }
    after = page.next;
    if (after === null) break;
  }
  const help = "1: the monitor of the agent is up or late; 0: it is down.";
  return samples.length === 0 ? [] : [gauge("runledger_monitor_up", help, samples)];
}

/** Serves the OpenAPI document. */
const getDescription: Handler = staticResponse(async ({ openapiText }) => {
  return { type: "application/json", text: await openapiText(), headers: {} };
});

/** Health, metrics and documentation endpoints. */
export const SERVICE_ENDPOINTS = endpoints("Service", {
  getHealth: {
    route: "GET /healthz",
    access: null,
    mayLackHost: true,
    // Liveness probe.
    ...returns("Running.", health, () => null),
    summary: "Check liveness",
    description: "Returns 200 and the version while the process is running.",
  },
  getReadiness: {
    route: "GET /readyz",
    access: null,
    mayLackHost: true,
    // Readiness probe: the store responds, and the process is not shutting down.
    handler: async (c, { ready, draining }) => {
      if (draining()) return fail(c, SHUTTING_DOWN);
      if (await ready()) return answer(c, 200, readiness.write(null));
      return fail(c, { code: "storage_unavailable", message: "The store does not respond: retry" });
    },
    summary: "Check readiness",
    description: "Returns 200 while the store responds and the process is not shutting down.",
    answers: ok("Ready.", readiness),
    errors: ["storage_unavailable", "shutting_down"],
  },
  getMetrics: {
    route: "GET /metrics",
    access: teamKeyOrOperator("read"),
    servesUnderOverload: true,
    handler: async (c, { metrics, usage, monitors, incidents, environment }, principal) => {
      // Only the operator sees global metrics: they would reveal the activity of other teams.
      const families = principal.grant.kind === "operator"
        ? [...metrics.requests.families(null), ...await metrics.ofProcess()]
        : [
          ...metrics.requests.families(principal.team.id),
          ...await quotaFamilies(principal.team, usage, environment.now()),
          ...await unlessOverloaded(monitorFamilies(principal.team, monitors)),
          ...await unlessOverloaded(incidentFamilies(principal.team, incidents)),
        ];
      return answerText(c, 200, metricsText(families), METRICS_TYPE);
    },
    summary: "Read metrics for Prometheus",
    description:
      "Prometheus text format 0.0.4. A team's key reads its team's metrics: requests by route and " +
      "status, latencies, errors by code, the events of the month, its monitors and open incidents. The operator's key reads " +
      "metrics of all requests, the store, the worker and the process, without a breakdown by team.",
    answers: ok("The metrics.", textBody("text/plain")),
    errors: ["storage_unavailable"],
  },
  getDescription: {
    route: "GET /openapi.json",
    access: null,
    handler: getDescription,
    summary: "Read the OpenAPI document",
    description: "This API as an OpenAPI 3.1 document, generated from the schemas that validate " +
      "requests.",
    headers: ifNoneMatch,
    answers: tagged("The document.", shape.anyObject, "Cache-Control"),
  },
  getDocs: {
    route: "GET /docs",
    access: null,
    handler: showReference,
    summary: "Read the documentation page",
    description:
      "This API as an HTML page with search and example requests. It loads nothing from other hosts.",
    headers: ifNoneMatch,
    answers: tagged("The page.", textBody("text/html"), "Cache-Control"),
  },
});
