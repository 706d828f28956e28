/** Attacks with traces of OpenTelemetry. */
import { PbfWriter } from "pbf";
import { type Attack, RATE } from "../attacker.ts";
import { gzip, instant } from "../values.ts";

/** Spans of the largest request, of each of its runs, and of a large request in JSON. */
const SPANS = { max: 10_000, perRun: 100, json: 3_000 } as const;

/** Bytes of the largest request in protobuf. */
const PROTOBUF_BYTES = 32 * 1_048_576;

const CALL = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o" };
const AGENT = { "gen_ai.operation.name": "invoke_agent" };

/** Hex digits of an id, for any number. */
function hex(n: number, digits: number): string {
  return (n + 1).toString(16).padStart(digits, "a");
}

let traces = 0;

/** Creates spans of a trace; `of` returns attributes of each and the number of its parent. */
function spans(
  trace: number,
  count: number,
  of: (n: number) => { attributes: Record<string, string>; parent?: number | undefined },
) {
  return Array.from({ length: count }, (_, n) => {
    const { attributes, parent } = of(n);
    const startNs = `${Date.parse(instant(60_000)) + n}000000`;
    return {
      traceId: hex(trace, 32),
      spanId: hex(n, 16),
      ...parent === undefined ? {} : { parentSpanId: hex(parent, 16) },
      ...{ name: "a", startTimeUnixNano: startNs, endTimeUnixNano: startNs },
      attributes: Object.entries(attributes)
        .map(([key, stringValue]) => ({ key, value: { stringValue } })),
    };
  });
}

/** Returns a gzipped request; each scope is an instrumentation. */
function request(scopes: Readonly<Record<string, readonly unknown[]>>): Uint8Array<ArrayBuffer> {
  const scopeSpans = Object.entries(scopes).map(([name, spans]) => ({ scope: { name }, spans }));
  return gzip({ resourceSpans: [{ scopeSpans }] });
}

/** Writes the largest request in protobuf, with as many spans as are read. */
function largestProtobuf(): Uint8Array<ArrayBuffer> {
  const message = "x".repeat(PROTOBUF_BYTES / SPANS.max - 200);
  const startNs = Date.parse(instant(60_000)) * 1e6;
  const first = traces;
  traces += SPANS.max / SPANS.perRun;
  const pbf = new PbfWriter(new Uint8Array(PROTOBUF_BYTES));
  const writeSpan = (n: number, span: PbfWriter) => {
    const trace = first + Math.floor(n / SPANS.perRun);
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

/** An attack of a hundred requests at once; `bodiesOf` returns what makes each body. */
function sending(
  name: string,
  does: string,
  bodiesOf: () => () => Uint8Array<ArrayBuffer>,
  type = "application/json",
): Attack {
  return {
    name,
    does,
    run(attacker) {
      const bodyOf = bodiesOf();
      const headers = { "Content-Type": type, "Content-Encoding": "gzip" };
      const send = () => attacker.send("POST", "/v1/traces", { body: bodyOf(), headers });
      return attacker.pace(RATE.ingest, send, 100);
    },
  };
}

export const TRACES: readonly Attack[] = [
  sending(
    "largest protobuf traces",
    "32 MiB in protobuf, with 10,000 spans that have messages",
    () => {
      // Others repeat them: what is stored is decoded and compared again.
      const bodies = Array.from({ length: 4 }, largestProtobuf);
      let sent = 0;
      return () => bodies[sent++ % bodies.length] as Uint8Array<ArrayBuffer>;
    },
    "application/x-protobuf",
  ),
  sending(
    "twins",
    "runs of 256 calls of two instrumentations, each equal to all others",
    () => () => {
      const all = spans(traces++, 256, () => ({ attributes: CALL, parent: 9_999 }));
      return request({ a: all.slice(0, 128), b: all.slice(128) });
    },
  ),
  sending("deep traces", "agents below thousands of spans, each to be climbed", () => () => {
    const below = (n: number) => ({
      attributes: n < SPANS.json / 2 ? {} : AGENT,
      parent: n === 0 ? undefined : n - 1,
    });
    return request({ a: spans(traces++, SPANS.json, below) });
  }),
];
