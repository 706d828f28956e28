/**
 * Metrics in memory, those of requests among them, and their text: Prometheus exposition format 0.0.4.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import { type ErrorCode, ERRORS } from "../domain/core/errors.ts";

/** Content type of {@link metricsText}. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Labels by name. Values come from bounded sets: routes, statuses and codes, and in a team's metrics its
 * monitored agents, never from a request.
 */
export type MetricLabels = Readonly<Record<string, string>>;

/** One sample of a metric family. */
export interface Sample<Value> {
  /** Labels that identify the sample within its family. */
  readonly labels?: MetricLabels;
  /** Value of the sample. */
  readonly value: Value;
}

/** Metric family: all samples of one name. */
export type MetricFamily =
  | {
    /** Counters only grow until a restart; gauges go up and down. */
    readonly type: "counter" | "gauge";
    /** Name by the Prometheus conventions: includes the unit, and counters end in `_total`. */
    readonly name: string;
    /** Description in one sentence. */
    readonly help: string;
    /** Samples by labels. */
    readonly samples: readonly Sample<number>[];
  }
  | {
    /** Values by bucket. */
    readonly type: "histogram";
    /** Name by the same conventions. */
    readonly name: string;
    /** Description in one sentence. */
    readonly help: string;
    /** Samples by labels. */
    readonly samples: readonly Sample<HistogramValue>[];
  };

/** Creates a family of gauges: one gauge without labels, or one per sample. */
export function gauge(
  name: string,
  help: string,
  value: number | readonly Sample<number>[],
): MetricFamily {
  return { type: "gauge", name, help, samples: typeof value === "number" ? [{ value }] : value };
}

/** Creates a family of one counter without labels. */
export function counter(name: string, help: string, value: number): MetricFamily {
  return { type: "counter", name, help, samples: [{ value }] };
}

/** Creates a family of one histogram without labels. */
export function histogram(name: string, help: string, value: HistogramValue): MetricFamily {
  return { type: "histogram", name, help, samples: [{ value }] };
}

/** Formats families as text, in order. */
export function metricsText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join("");
}

function familyText(family: MetricFamily): string {
  const { name, type } = family;
  const help = family.help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  if (family.type === "histogram") {
    for (const { labels, value } of family.samples) lines.push(...bucketLines(name, labels, value));
  } else {
    for (const { labels, value } of family.samples) lines.push(line(name, labels, value));
  }
  return `${lines.join("\n")}\n`;
}

/** Formats a histogram; bucket counts in the text format are cumulative. */
function bucketLines(
  name: string,
  labels: MetricLabels | undefined,
  { bounds, counts, sum }: HistogramValue,
): string[] {
  let count = 0;
  const lines = counts.map((bucketCount, at) => {
    count += bucketCount;
    const le = numberText(bounds[at] ?? Infinity);
    return line(`${name}_bucket`, { ...labels, le }, count);
  });
  return [...lines, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
}

function line(name: string, labels: MetricLabels = {}, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

/** Current content of a histogram. */
export interface HistogramValue {
  /** Upper bounds of the buckets, ascending; the last, unbounded bucket is not listed. */
  readonly bounds: readonly number[];
  /** Number of values in each bucket, not cumulative; one more entry than there are bounds. */
  readonly counts: readonly number[];
  /** Total of all values. */
  readonly sum: number;
}

/** Counts values in buckets fixed at creation, so its size is constant. */
export class Histogram implements HistogramValue {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** Number of values in each bucket. */
  readonly counts: number[];
  #sum = 0;

  /** Creates an empty histogram with these upper bounds, ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /** Total of all values. */
  get sum(): number {
    return this.#sum;
  }

  /** Adds a value to the first bucket whose bound is not below it. */
  observe(value: number): void {
    let at = 0;
    // Most values are small, so the loop ends early.
    while (at < this.bounds.length && value > (this.bounds[at] ?? Infinity)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.#sum += value;
  }
}

/** Bounds for durations of requests and commits, in seconds. */
export const SECONDS_BOUNDS: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
];

/** Counts of one process by labels, all of which are known before. */
export class LabeledCounter {
  readonly #name: string;
  readonly #help: string;
  readonly #samples: Map<string, { readonly labels: MetricLabels; value: number }>;

  /** Creates a counter that has counted nothing. */
  constructor(name: string, help: string, labels: readonly MetricLabels[]) {
    this.#name = name;
    this.#help = help;
    this.#samples = new Map(labels.map((labels) => [nameOf(labels), { labels, value: 0 }]));
  }

  /** Counts one, or an amount; labels that are not known are left out. */
  count(labels: MetricLabels, amount = 1): void {
    const sample = this.#samples.get(nameOf(labels));
    if (sample !== undefined) sample.value += amount;
  }

  /** Returns the family of the counts. */
  family(): MetricFamily {
    const samples = [...this.#samples.values()];
    return { type: "counter", name: this.#name, help: this.#help, samples };
  }
}

function nameOf(labels: MetricLabels): string {
  return Object.values(labels).join(" ");
}

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
class RouteCounts {
  readonly statuses = new Map<number, number>();
  readonly durations = new Histogram(SECONDS_BOUNDS);
}

/** Requests of one team, or of all teams. */
class TeamCounts {
  /** By route number; routes without requests are absent. */
  readonly routes = new Map<number, RouteCounts>();
  readonly errors = new Map<ErrorCode, number>();
  bytes = TEAM_BYTES;

  count(route: number, status: number, seconds: number, error: ErrorCode | undefined): void {
    let counts = this.routes.get(route);
    if (counts === undefined) {
      this.routes.set(route, counts = new RouteCounts());
      this.bytes += ROUTE_BYTES;
    }
    const requests = counts.statuses.get(status);
    if (requests === undefined) this.bytes += COUNT_BYTES;
    counts.statuses.set(status, (requests ?? 0) + 1);
    counts.durations.observe(seconds);
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
  readonly #all = new TeamCounts();
  readonly #bytesMax: number;
  /** Least recently active first. */
  readonly #teams = new Map<TeamId, TeamCounts>();
  #bytes = 0;
  /** Most recently active team; null at the start and after an eviction. */
  #latest: { readonly team: TeamId; readonly counts: TeamCounts } | null = null;

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
      const counts = this.#countsOf(team);
      const bytes = counts.bytes;
      counts.count(number, status, seconds, error);
      this.#bytes += counts.bytes - bytes;
      if (this.#bytes > this.#bytesMax) this.#evict();
    };
  }

  /** Returns the metrics of a team, which becomes the most recently active one. */
  #countsOf(team: TeamId): TeamCounts {
    // Most requests are of the same team as the request before.
    if (this.#latest?.team === team) return this.#latest.counts;
    const counts = this.#teams.get(team) ?? new TeamCounts();
    if (!this.#teams.delete(team)) this.#bytes += counts.bytes;
    this.#teams.set(team, counts);
    this.#latest = { team, counts };
    return counts;
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
    const counts = team === null ? this.#all : this.#teams.get(team) ?? new TeamCounts();
    const routes = Array.from(counts.routes, ([number, route]) => ({
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
          value: counts.errors.get(error) ?? 0,
        })),
      },
    ];
  }
}
