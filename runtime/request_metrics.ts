/**
 * Request metrics of the process and of each recently active team.
 *
 * Counters are created per route at startup, so counting a request builds no name and looks up no
 * label.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import { type ErrorCode, ERRORS } from "../domain/core/errors.ts";
import { Histogram, type MetricFamily, type MetricLabels, SECONDS_BOUNDS } from "./metric_text.ts";

/** Estimated bytes of a team, of each route it called, and of each status and error it got. */
const TEAM_BYTES = 400, ROUTE_BYTES = 600, COUNT_BYTES = 50;

/** Records one completed request of a route. */
export type CountRequest = (
  team: TeamId | undefined,
  status: number,
  seconds: number,
  error: ErrorCode | undefined,
) => void;

/** Requests of one route. */
class RouteTally {
  readonly statuses = new Map<number, number>();
  readonly durations = new Histogram(SECONDS_BOUNDS);
}

/** Requests of one team, or of all teams. */
class Tally {
  /** By route number; routes without requests are absent. */
  readonly routes = new Map<number, RouteTally>();
  readonly errors = new Map<ErrorCode, number>();
  bytes = TEAM_BYTES;

  count(route: number, status: number, seconds: number, error: ErrorCode | undefined): void {
    let tally = this.routes.get(route);
    if (tally === undefined) {
      this.routes.set(route, tally = new RouteTally());
      this.bytes += ROUTE_BYTES;
    }
    const requests = tally.statuses.get(status);
    if (requests === undefined) this.bytes += COUNT_BYTES;
    tally.statuses.set(status, (requests ?? 0) + 1);
    tally.durations.observe(seconds);
    if (error === undefined) return;
    const errors = this.errors.get(error);
    if (errors === undefined) this.bytes += COUNT_BYTES;
    this.errors.set(error, (errors ?? 0) + 1);
  }
}

/**
 * Metrics of all requests. Totals are bounded by the number of routes, statuses and codes. Metrics of
 * recently active teams are kept within a byte limit. The counters of an evicted team restart at 0,
 * which readers of counters treat as a restart.
 */
export class RequestMetrics {
  /** Requests in flight. */
  inFlight = 0;
  readonly #routes: MetricLabels[] = [];
  readonly #all = new Tally();
  readonly #bytesMax: number;
  /** Least recently active first. */
  readonly #teams = new Map<TeamId, Tally>();
  #bytes = 0;
  /** Most recently active team; null at the start and after an eviction. */
  #latest: { readonly team: TeamId; readonly tally: Tally } | null = null;

  /**
   * Creates empty metrics.
   *
   * @param bytesMax maximum bytes of all teams' metrics
   */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Estimated bytes of all teams' metrics. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Registers a route and returns its counter.
   *
   * @param method the method, or a label for requests that match no route
   * @param path the path pattern of the route, never the requested path
   */
  route(method: string, path: string): CountRequest {
    const number = this.#routes.push({ method, route: path }) - 1;
    return (team, status, seconds, error) => {
      this.#all.count(number, status, seconds, error);
      if (team === undefined) return;
      const tally = this.#tallyOf(team);
      const bytes = tally.bytes;
      tally.count(number, status, seconds, error);
      this.#bytes += tally.bytes - bytes;
      if (this.#bytes > this.#bytesMax) this.#evict();
    };
  }

  /** Returns the metrics of a team, which becomes the most recently active one. */
  #tallyOf(team: TeamId): Tally {
    // Most requests are of the same team as the request before.
    if (this.#latest?.team === team) return this.#latest.tally;
    const tally = this.#teams.get(team) ?? new Tally();
    if (!this.#teams.delete(team)) this.#bytes += tally.bytes;
    this.#teams.set(team, tally);
    this.#latest = { team, tally };
    return tally;
  }

  /** Removes the least recently active half: finding the first takes longer the more were deleted. */
  #evict(): void {
    this.#latest = null;
    for (const [team, { bytes }] of this.#teams) {
      if (this.#bytes <= this.#bytesMax / 2) return;
      this.#teams.delete(team);
      this.#bytes -= bytes;
    }
  }

  /** Returns the metrics of a team, or of all requests for `null`. */
  families(team: TeamId | null): MetricFamily[] {
    const tally = team === null ? this.#all : this.#teams.get(team) ?? new Tally();
    const routes = Array.from(tally.routes, ([number, route]) => ({
      labels: this.#routes[number] ?? {},
      route,
    }));
    const codes = Object.keys(ERRORS) as ErrorCode[];
    return [
      {
        type: "counter",
        name: "runledger_http_requests_total",
        help: "Completed requests, by route and status.",
        samples: routes.flatMap(({ labels, route }) =>
          Array.from(route.statuses, ([status, value]) => ({
            labels: { ...labels, status: String(status) },
            value,
          }))
        ),
      },
      {
        type: "histogram",
        name: "runledger_http_request_duration_seconds",
        help:
          "Time from the head of a request to its response, including the transfer of its body.",
        samples: routes.map(({ labels, route }) => ({ labels, value: route.durations })),
      },
      {
        type: "counter",
        name: "runledger_http_errors_total",
        help: "Refused or failed requests, by error code.",
        samples: codes.map((error) => ({
          labels: { error },
          value: tally.errors.get(error) ?? 0,
        })),
      },
    ];
  }
}
