/**
 * Prometheus text exposition format 0.0.4.
 *
 * @module
 */

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

  /** Counts one; labels that are not known are left out. */
  count(labels: MetricLabels): void {
    const sample = this.#samples.get(nameOf(labels));
    if (sample !== undefined) sample.value++;
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
