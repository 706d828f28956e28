/** Attacks with traces of OpenTelemetry. */
import { PbfWriter } from "pbf";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, RATE } from "../attacker.ts";
import { gzip, instant } from "../values.ts";

/** Spans of the largest request, and of a large one in JSON. */
const SPANS = { max: 10_000, json: 3_000 } as const;

/** Hex digits of an id, for any number. */
function hex(n: number, digits: number): string {
  return (n + 1).toString(16).padStart(digits, "a");
}

let traces = 0;

/** Creates a span of a trace. */
function aSpan(trace: number, n: number, attributes: Record<string, string>, parent?: number) {
  const startNs = `${Date.parse(instant(60_000)) + n}000000`;
  return {
    traceId: hex(trace, 32),
    spanId: hex(n, 16),
    ...parent === undefined ? {} : { parentSpanId: hex(parent, 16) },
    name: "a",
    startTimeUnixNano: startNs,
    endTimeUnixNano: startNs,
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  };
}

/** Returns a gzipped request; each scope is an instrumentation. */
function request(scopes: Readonly<Record<string, readonly unknown[]>>): Uint8Array<ArrayBuffer> {
  const scopeSpans = Object.entries(scopes).map(([name, spans]) => ({ scope: { name }, spans }));
  return gzip({ resourceSpans: [{ scopeSpans }] });
}

function spans(count: number, spanOf: (n: number) => unknown): unknown[] {
  return Array.from({ length: count }, (_, n) => spanOf(n));
}

/** Bytes of the largest request in protobuf, and spans of each of its runs. */
const PROTOBUF_BYTES = 32 * 1_048_576, SPANS_PER_RUN = 100;

/** Writes the largest request in protobuf, with as many spans as are read. */
function largestProtobuf(): Uint8Array<ArrayBuffer> {
  const message = "x".repeat(PROTOBUF_BYTES / SPANS.max - 200);
  const startNs = Date.parse(instant(60_000)) * 1e6;
  const first = traces;
  traces += SPANS.max / SPANS_PER_RUN;
  const pbf = new PbfWriter(new Uint8Array(PROTOBUF_BYTES));
  const writeSpan = (n: number, span: PbfWriter) => {
    const trace = first + Math.floor(n / SPANS_PER_RUN);
    span.writeBytesField(1, Uint8Array.fromHex(hex(trace, 32)));
    span.writeBytesField(2, Uint8Array.fromHex(hex(n, 16)));
    span.writeFixed64Field(7, startNs);
    for (const [key, value] of Object.entries({ ...CALL, "gen_ai.prompt": message })) {
      span.writeMessage(9, (_, attribute) => {
        attribute.writeStringField(1, key);
        attribute.writeMessage(2, (text, any) => any.writeStringField(1, text), value);
      }, null);
    }
  };
  pbf.writeMessage(1, (_, resource) => {
    resource.writeMessage(2, (_, scope) => {
      for (let n = 0; n < SPANS.max; n++) scope.writeMessage(2, writeSpan, n);
    }, null);
  }, null);
  return gzip(pbf.finish());
}

function paced(
  attacker: Attacker,
  bodyOf: () => Uint8Array<ArrayBuffer>,
  type = "application/json",
): Promise<void> {
  const headers = { "Content-Type": type, "Content-Encoding": "gzip" };
  return attacker.pace(
    RATE.ingest,
    () => attacker.send("POST", "/v1/traces", { body: bodyOf(), headers }),
    100,
  );
}

const CALL = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o" };

export const spanAttacks: readonly Attack[] = [
  attack({
    name: "largest traces",
    finding: null,
    does: "a hundred requests at once with as many spans as 4 MiB of JSON have, each a run",
    run(attacker) {
      return paced(
        attacker,
        () =>
          request({
            a: spans(SPANS.max, (n) => aSpan(traces++, n, { "openinference.span.kind": "x" })),
          }),
      );
    },
  }),
  attack({
    name: "largest protobuf traces",
    finding: null,
    does: "a hundred requests at once of 32 MiB in protobuf, with 10,000 spans that have messages",
    run(attacker) {
      // Others repeat them: what is stored is decoded and compared again.
      const bodies = Array.from({ length: 4 }, largestProtobuf);
      let sent = 0;
      const next = () => bodies[sent++ % bodies.length] as Uint8Array<ArrayBuffer>;
      return paced(attacker, next, "application/x-protobuf");
    },
  }),
  attack({
    name: "twins",
    finding: null,
    does: "runs of 256 calls of two instrumentations, each equal to all others",
    run(attacker) {
      return paced(attacker, () => {
        const trace = traces++;
        const half = (from: number) => spans(128, (n) => aSpan(trace, from + n, CALL, 9_999));
        return request({ a: half(0), b: half(128) });
      });
    },
  }),
  attack({
    name: "deep traces",
    finding: null,
    does: "agents below thousands of spans that are no AI work, each to be climbed",
    run(attacker) {
      return paced(attacker, () => {
        const trace = traces++;
        const agent = { "gen_ai.operation.name": "invoke_agent" };
        const below = (n: number) =>
          aSpan(trace, n, n < SPANS.json / 2 ? {} : agent, n === 0 ? undefined : n - 1);
        return request({ a: spans(SPANS.json, below) });
      });
    },
  }),
  attack({
    name: "wide content",
    finding: null,
    does: "spans with messages of 16,000 characters that nest as deep as JSON may",
    run(attacker) {
      const deep = `${"[".repeat(60)}"${"x".repeat(15_800)}"${"]".repeat(60)}`;
      const content = { ...CALL, "gen_ai.input.messages": deep, "gen_ai.output.messages": deep };
      return paced(attacker, () => request({ a: spans(120, (n) => aSpan(traces++, n, content)) }));
    },
  }),
];
