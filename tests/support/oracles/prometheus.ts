/**
 * Parses Prometheus' text format 0.0.4 strictly: refuses anything that scrapers may read
 * differently.
 */
import { assert, assertEquals } from "@std/assert";

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class Scrape {
  readonly types: ReadonlyMap<string, string>;
  readonly series: readonly Series[];

  /** Parses a text; fails the test if it breaks the format. */
  constructor(text: string) {
    assert(text.endsWith("\n"), "the last line has no line end");
    const blocks = text.split(/^(?=# HELP )/m);
    const families = blocks.map(readFamily);
    this.types = new Map(families.map(({ name, type }) => [name, type]));
    assertEquals(this.types.size, families.length, "a family is listed twice");
    this.series = families.flatMap(({ series }) => series);
    const lines = this.series.map(({ name, labels }) => keyOf(name, labels));
    assertEquals(new Set(lines).size, lines.length, "a sample is listed twice");
  }

  /** Returns the one value of a name with these labels, or null. */
  value(name: string, labels: Record<string, string> = {}): number | null {
    const key = keyOf(name, labels);
    return this.series.find((one) => keyOf(one.name, one.labels) === key)?.value ?? null;
  }

  of(name: string): Series[] {
    return this.series.filter((one) => one.name === name);
  }

  /** Returns the total of all samples of a name. */
  sum(name: string): number {
    return this.of(name).reduce((sum, { value }) => sum + value, 0);
  }
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LINE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.+)\})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=.)|$)/y;

function readFamily(block: string): { name: string; type: string; series: Series[] } {
  const [help = "", type = "", ...lines] = block.trimEnd().split("\n");
  const [, name = "", description = ""] = /^# HELP (\S+) (\S.*)$/.exec(help) ?? [];
  assert(NAME.test(name) && description !== "", `no help: ${help}`);
  const [, typed, kind = ""] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(type) ?? [];
  assertEquals(typed, name, `no type: ${type}`);
  assertEquals(name.endsWith("_total"), kind === "counter", `${name} is a ${kind}`);
  const series = lines.map(readLine);
  if (kind === "histogram") checkHistograms(name, series);
  else {
    for (const one of series) {
      assertEquals(one.name, name);
      assert(kind === "gauge" || one.value >= 0, `${name} is ${one.value}`);
    }
  }
  return { name, type: kind, series };
}

function readLine(line: string): Series {
  const [, name = "", labels = "", value = ""] = LINE.exec(line) ?? [];
  assert(name !== "", `no sample: ${line}`);
  return { name, labels: readLabels(labels), value: numberOf(value) };
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    assert(match !== null, `no labels: ${text}`);
    const [, name = "", value = ""] = match;
    assert(!(name in labels), `${name} occurs twice in ${text}`);
    labels[name] = value.replace(/\\(.)/g, (_, mark) => mark === "n" ? "\n" : mark);
  }
  return labels;
}

function numberOf(text: string): number {
  return text.endsWith("Inf") ? Number(text.replace("Inf", "Infinity")) : Number(text);
}

/** Buckets ascend and are cumulative, the last one includes everything, and sum and count exist. */
function checkHistograms(name: string, series: readonly Series[]): void {
  const groups = Map.groupBy(series, ({ labels: { le: _, ...rest } }) => keyOf("", rest));
  for (const [where, group] of groups) {
    const buckets = group.filter((one) => one.name === `${name}_bucket`);
    const [sum, count, ...more] = group.slice(buckets.length);
    assertEquals([sum?.name, count?.name, more], [`${name}_sum`, `${name}_count`, []], where);
    const bounds = buckets.map(({ labels }) => numberOf(labels["le"] ?? "NaN"));
    const counts = buckets.map(({ value }) => value);
    assertEquals(bounds, bounds.toSorted((a, b) => a - b), where);
    assertEquals(counts, counts.toSorted((a, b) => a - b), where);
    assertEquals([bounds.at(-1), counts.at(-1)], [Infinity, count?.value], where);
    assert((count?.value ?? 0) > 0 || sum?.value === 0, where);
  }
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.toSorted().join(",")}}`;
}
