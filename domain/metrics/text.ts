/**
 * Figures as the text that Prometheus reads, format 0.0.4.
 *
 * @module
 */
import type { HistogramValue } from "./histogram.ts";

/** The content type of {@link metricsText}. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Labels by name. Values come from closed sets: routes, statuses, codes; never from a request. */
export type MetricLabels = Readonly<Record<string, string>>;

/** One figure of a family. */
export interface Sample<Value> {
  /** What tells it from the family's others. */
  readonly labels?: MetricLabels;
  /** The figure. */
  readonly value: Value;
}

/** Figures of one name. */
export type MetricFamily =
  | {
    /** Whether it only ever grows, up to a restart, or goes up and down. */
    readonly type: "counter" | "gauge";
    /** By Prometheus' conventions: the unit is in it, counters end in `_total`. */
    readonly name: string;
    /** One sentence for people. */
    readonly help: string;
    /** The figures. */
    readonly samples: readonly Sample<number>[];
  }
  | {
    /** Counts by size. */
    readonly type: "histogram";
    /** By the same conventions. */
    readonly name: string;
    /** One sentence for people. */
    readonly help: string;
    /** The figures. */
    readonly samples: readonly Sample<HistogramValue>[];
  };

/** Makes a family of one gauge without labels. */
export function gauge(name: string, help: string, value: number): MetricFamily {
  return { type: "gauge", name, help, samples: [{ value }] };
}

/** Makes a family of one counter without labels. */
export function counter(name: string, help: string, value: number): MetricFamily {
  return { type: "counter", name, help, samples: [{ value }] };
}

/** Makes a family of one histogram without labels. */
export function histogram(name: string, help: string, value: HistogramValue): MetricFamily {
  return { type: "histogram", name, help, samples: [{ value }] };
}

/** Writes families as text, in their order. */
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

/** The text counts in each bucket all values up to its bound. */
function bucketLines(
  name: string,
  labels: MetricLabels | undefined,
  { bounds, counts, sum }: HistogramValue,
): string[] {
  let count = 0;
  const lines = counts.map((some, at) => {
    count += some;
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
