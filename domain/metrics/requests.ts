/**
 * What requests came to: for the process, and for each team that asked lately.
 *
 * Counting is plain additions to what was made for the route at the start: no name is put together and
 * no label is looked up for a request.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import { type ErrorCode, ERRORS } from "../core/errors.ts";
import { Histogram, SECONDS_BOUNDS } from "./histogram.ts";
import type { MetricFamily, MetricLabels } from "./text.ts";

/** Bytes of a team, of each route it asked for, and of each status and error it got. */
const TEAM_BYTES = 400, ROUTE_BYTES = 600, COUNT_BYTES = 50;

/** Takes the end of one request of a route. */
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

/** Requests of one team, or of all. */
class Tally {
  /** By number of the route; without those that were never asked for. */
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
 * The figures of all requests. What it holds in all is bounded by routes, statuses and codes; of teams it
 * keeps two generations of some bytes each. A team that is forgotten begins at 0 again, which readers of
 * counters take for a restart.
 */
export class RequestMetrics {
  /** Requests that are not answered yet. */
  inFlight = 0;
  readonly #routes: MetricLabels[] = [];
  readonly #all = new Tally();
  readonly #bytesMax: number;
  #young = new Map<TeamId, Tally>();
  #old = new Map<TeamId, Tally>();
  #youngBytes = 0;
  #oldBytes = 0;

  /**
   * Creates figures of no request.
   *
   * @param bytesMax what the figures of teams may take
   */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of the figures of teams. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes;
  }

  /**
   * Makes what counts the requests of a route.
   *
   * @param method the method, or a word for requests that fit no route
   * @param path the pattern of its path, never the path that was sent
   */
  route(method: string, path: string): CountRequest {
    const number = this.#routes.push({ method, route: path }) - 1;
    return (team, status, seconds, error) => {
      this.#all.count(number, status, seconds, error);
      if (team === undefined) return;
      const tally = this.#young.get(team) ?? this.#admit(team);
      const before = tally.bytes;
      tally.count(number, status, seconds, error);
      if (tally.bytes === before) return;
      this.#youngBytes += tally.bytes - before;
      if (this.#youngBytes > this.#bytesMax / 2) this.#age();
    };
  }

  #admit(team: TeamId): Tally {
    const known = this.#old.get(team);
    if (known !== undefined) {
      this.#old.delete(team);
      this.#oldBytes -= known.bytes;
    }
    const tally = known ?? new Tally();
    if (this.#youngBytes + tally.bytes > this.#bytesMax / 2) this.#age();
    this.#young.set(team, tally);
    this.#youngBytes += tally.bytes;
    return tally;
  }

  /** Begins a generation, and forgets the one before the last. */
  #age(): void {
    this.#old = this.#young;
    this.#oldBytes = this.#youngBytes;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  /** The figures of a team, or of all requests for `null`. */
  families(team: TeamId | null): MetricFamily[] {
    const tally = team === null
      ? this.#all
      : this.#young.get(team) ?? this.#old.get(team) ?? new Tally();
    const routes = Array.from(tally.routes, ([number, route]) => ({
      labels: this.#routes[number] ?? {},
      route,
    }));
    const codes = Object.keys(ERRORS) as ErrorCode[];
    return [
      {
        type: "counter",
        name: "runledger_http_requests_total",
        help: "Requests answered, by route and status.",
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
        help: "Time from the head of a request to its answer, its body's way included.",
        samples: routes.map(({ labels, route }) => ({ labels, value: route.durations })),
      },
      {
        type: "counter",
        name: "runledger_http_errors_total",
        help: "Requests refused or failed, by the code they were told.",
        samples: codes.map((error) => ({
          labels: { error },
          value: tally.errors.get(error) ?? 0,
        })),
      },
    ];
  }
}
