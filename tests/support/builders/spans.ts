/** Spans of OpenTelemetry: recorded exports of real packages, and made ones. */
import expectedJson from "../../fixtures/otlp/expected.json" with { type: "json" };
import {
  attributeFilter,
  type AttributeValue,
  checkSpans,
  type Span,
} from "../../../domain/otlp/span.ts";
import { mapSpans, type RunSpans } from "../../../domain/otlp/map.ts";
import { joinFacts, type TraceFacts } from "../../../domain/runs/trace_facts.ts";
import { modelKeyOf, twinsOf } from "../../../domain/otlp/twins.ts";
import type { JsonFields } from "../../../domain/core/body.ts";
import { complete } from "../../../domain/core/steps.ts";
import { readJson } from "../../../routes/otlp/json.ts";
import { readProtobuf } from "../../../routes/otlp/protobuf.ts";

interface CallCounts {
  calls: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
}

/** Facts that a ledger can know of an export; the provider's own log is its source where there is one. */
export interface ExpectedExport {
  readonly product: string;
  readonly runs: readonly {
    readonly trace: string;
    readonly agent: string;
    readonly status: string;
    readonly calls: number;
    readonly tools: number;
    readonly failed_tools: number;
    readonly sub_agents: readonly string[];
    /** Labels that must be among those of the run. */
    readonly labels: Readonly<Record<string, string>>;
  }[];
  readonly total: CallCounts;
  readonly by_model: Readonly<Record<string, CallCounts>>;
}

const EXPECTED: Readonly<Record<string, ExpectedExport>> = expectedJson;

export interface RecordedExport {
  readonly name: string;
  readonly contentType: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly expected: ExpectedExport;
}

export function recordedExports(): Promise<RecordedExport[]> {
  return Promise.all(Object.keys(EXPECTED).map(recordedExport));
}

export async function recordedExport(name: string): Promise<RecordedExport> {
  const isJson = ["ai6", "ai7", "lf"].includes(name);
  const file = new URL(`../../fixtures/otlp/${name}.${isJson ? "json" : "pb"}.gz`, import.meta.url);
  const packed = new Blob([await Deno.readFile(file)]).stream();
  const body = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).bytes();
  const contentType = isJson ? "application/json" : "application/x-protobuf";
  return { name, contentType, body, expected: EXPECTED[name] as ExpectedExport };
}

/** Reads the spans of an export as its service does. */
export function sentSpansOf({ contentType, body }: RecordedExport, keepsContent = true) {
  const filter = attributeFilter(keepsContent);
  return contentType === "application/json"
    ? complete(readJson(new TextDecoder().decode(body), filter))
    : complete(readProtobuf(body, filter));
}

/** Reads the spans of an export, which are all valid. */
export function spansOf(sent: RecordedExport): readonly Span[] {
  return checkSpans(sentSpansOf(sent)).spans;
}

export function runsOf(spans: readonly Span[], keepsContent = true): readonly RunSpans[] {
  return complete(mapSpans(spans, { region: "eu", agent: null, keepsContent })).runs;
}

/** A run as a store has it after some requests. */
interface CollectedRun {
  facts: TraceFacts;
  readonly events: Map<string, RunSpans["events"][number]>;
}

/** Adds the runs of a request to what earlier ones said; an event that is stored counts once. */
export function collect(
  runs: Map<string, CollectedRun>,
  request: readonly RunSpans[],
): Map<string, CollectedRun> {
  for (const { run, events, facts } of request) {
    const known = runs.get(run) ?? { facts: {}, events: new Map() };
    runs.set(run, known);
    known.facts = joinFacts([known.facts, facts]);
    for (const event of events) {
      if (!known.events.has(event.id)) known.events.set(event.id, event);
    }
  }
  return runs;
}

/** A run in comparable words, to compare it with another of the same spans. */
interface RunResult {
  readonly trace: string;
  readonly agent: string | undefined;
  readonly status: string | undefined;
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly calls: number;
  readonly tools: number;
  readonly failedTools: number;
  readonly agents: readonly string[];
  readonly priced: readonly string[];
}

/** Result of an export: its runs, and the calls of all of them. */
export interface ExportResult {
  readonly runs: readonly RunResult[];
  readonly total: CallCounts;
  readonly byModel: Readonly<Record<string, CallCounts>>;
}

/** Counts the runs and calls of an export, each call once. */
export function resultOf(runs: ReadonlyMap<string, CollectedRun>): ExportResult {
  const total = noCalls();
  const byModel: Record<string, CallCounts> = {};
  const results = Array.from(runs, ([run, { facts, events }]): RunResult => {
    const stored = Array.from(events.values(), (event) => ({
      ...event,
      data: JSON.parse(event.data) as JsonFields,
    }));
    const twins = twinsOf(stored);
    const calls = stored.filter(({ id, type }) => type === "llm_call" && !twins?.has(id));
    for (const { data, facts: { error } } of calls) {
      const model = keyOf(typeof data.model === "string" ? data.model : null);
      byModel[model] ??= noCalls();
      for (const counts of [total, byModel[model]]) addCall(counts, data, error);
    }
    const tools = stored.filter(({ type }) => type === "tool_call");
    const agents = stored.filter(({ data }) => data.kind === "agent");
    return {
      trace: run.slice("run_eu_".length),
      agent: facts.agent?.value,
      status: facts.status?.status,
      labels: {
        customer_id: facts.customer?.value,
        feature: facts.feature?.value,
        ...Object.fromEntries((facts.metadata ?? []).map(({ key, value }) => [key, value])),
      },
      calls: calls.length,
      tools: tools.length,
      failedTools: tools.filter(({ facts: { error } }) => error).length,
      agents: agents.map(({ data }) => String(data.name)).sort(),
      priced: calls.map(({ id }) => id).sort(),
    };
  });
  return { runs: results.sort((a, b) => a.trace < b.trace ? -1 : 1), total, byModel };
}

/** Returns the name by which models are compared: without date and vendor. */
export function keyOf(model: string | null): string {
  return model === "(not told)" ? model : modelKeyOf(model) ?? "(not told)";
}

function noCalls(): CallCounts {
  return {
    calls: 0,
    failed: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
  };
}

function addCall(counts: CallCounts, data: JsonFields, isFailed: boolean): void {
  const count = (name: string) => typeof data[name] === "number" ? data[name] : 0;
  if (isFailed) counts.failed++;
  else counts.calls++;
  counts.input_tokens += count("input_tokens");
  counts.output_tokens += count("output_tokens");
  counts.cached_input_tokens += count("cached_input_tokens");
  counts.cache_write_tokens += count("cache_creation_input_tokens");
}

/** Fields of a made span; the others have defaults. */
export interface MadeSpan extends Partial<Omit<Span, "attributes" | "resource" | "exception">> {
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly resource?: Readonly<Record<string, AttributeValue>>;
  readonly exception?: Readonly<Record<string, AttributeValue>>;
}

let made = 0;

/** Makes a span: by default a root of its own trace that says nothing. */
export function makeSpan(fields: MadeSpan = {}): Span {
  made++;
  const { attributes = {}, resource = { "service.name": "made" }, exception, ...others } = fields;
  return {
    traceId: made.toString(16).padStart(32, "a"),
    spanId: made.toString(16).padStart(16, "b"),
    parentId: null,
    isParentRemote: false,
    name: "made",
    isClient: false,
    startMs: 1_795_000_000_000,
    endMs: 1_795_000_001_000,
    isError: false,
    message: "",
    scope: "made",
    ...others,
    attributes: new Map(Object.entries(attributes)),
    resource: new Map(Object.entries(resource)),
    exception: exception === undefined ? null : new Map(Object.entries(exception)),
  };
}
