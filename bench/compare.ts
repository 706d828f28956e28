/**
 * Sends the same traces to any service that takes OTLP over HTTP, and reads them back: what was
 * acknowledged before a kill, what is stored of a trace that comes twice, and of one that comes late.
 * `bench/COMPARISON.md` has the commands and the results.
 */
import { parseArgs } from "node:util";
import { processIo } from "../tools/command.ts";

/** A service. `{trace}` in `read` stands for the id of a trace. */
export interface Target {
  /** Address that takes OTLP in JSON. */
  readonly url: string;
  /** Address at which a stored trace is read; the names of its models are in the answer. */
  readonly read: string;
  readonly headers: Readonly<Record<string, string>>;
}

const hex = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)).toHex();

/** A trace of an agent with model calls; the name of each call's model occurs nowhere else. */
function makeTrace(calls = 10) {
  const [traceId, root] = [hex(16), hex(8)];
  const span = (spanId: string, name: string, attributes: Readonly<Record<string, string>>) => ({
    ...{ traceId, spanId, name, kind: 1, ...spanId === root ? {} : { parentSpanId: root } },
    startTimeUnixNano: `${Date.now()}000000`,
    endTimeUnixNano: `${Date.now() + 1}000000`,
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  });
  const agent = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "compare" };
  const models = Array.from({ length: calls }, () => `model-${hex(6)}`);
  const spans = models.map((model) =>
    span(hex(8), `chat ${model}`, {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": model,
    })
  );
  return { traceId, models, spans: [...spans, span(root, "invoke_agent compare", agent)] };
}

/** Sends spans; returns whether they were acknowledged. */
async function send({ url, headers }: Target, spans: readonly unknown[]): Promise<boolean> {
  const scope = { name: "compare" };
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ scope, spans }] }] });
  const init = {
    method: "POST",
    body,
    headers: { ...headers, "content-type": "application/json" },
  };
  const response = await fetch(url, init).catch(() => null);
  await response?.body?.cancel();
  return response?.ok ?? false;
}

/** Reads a trace; empty if it is not there. */
async function read({ read, headers }: Target, traceId: string): Promise<string> {
  const response = await fetch(read.replace("{trace}", traceId), { headers }).catch(() => null);
  const text = await response?.text() ?? "";
  return response?.ok ? text : "";
}

/** Reads a trace until it has all names, for a minute at most: some services store later. */
async function readAll(target: Target, traceId: string, names: readonly string[]): Promise<string> {
  let text = "";
  for (const endMs = Date.now() + 60_000; Date.now() < endMs;) {
    text = await read(target, traceId);
    if (names.every((name) => text.includes(name))) break;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return text;
}

/**
 * Sends traces over 8 connections until a call fails or the time is over, waits until the service
 * answers again, and counts acknowledged traces that lack a span.
 *
 * @param onAcknowledged called with the number of acknowledged traces so far
 */
export async function sendThroughKill(
  target: Target,
  seconds: number,
  onAcknowledged: (count: number) => void = () => {},
) {
  const acknowledged: ReturnType<typeof makeTrace>[] = [];
  const endMs = Date.now() + seconds * 1_000;
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (Date.now() < endMs) {
      const trace = makeTrace();
      if (!await send(target, trace.spans)) return;
      onAcknowledged(acknowledged.push(trace));
    }
  }));
  const last = makeTrace();
  for (let tries = 0; !await send(target, last.spans) && tries < 240; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  await readAll(target, last.traceId, last.models);
  let lost = 0;
  for (const { traceId, models } of acknowledged) {
    const text = await read(target, traceId);
    if (!models.every((model) => text.includes(model))) lost++;
  }
  return { acknowledged: acknowledged.length, lost };
}

/** Sends a trace, then again in the reverse order; returns how many times as much is stored. */
export async function sendTwice(target: Target): Promise<number> {
  const { traceId, models, spans } = makeTrace();
  await send(target, spans);
  const count = (text: string) => models.reduce((n, model) => n + text.split(model).length - 1, 0);
  const once = count(await readAll(target, traceId, models));
  await send(target, spans.toReversed());
  // What is stored later shows with the next trace.
  const next = makeTrace();
  await send(target, next.spans);
  await readAll(target, next.traceId, next.models);
  return count(await read(target, traceId)) / once;
}

/** Sends the span without a parent, then the calls; returns whether the trace has all of them. */
export async function sendLate(target: Target): Promise<boolean> {
  const { traceId, models, spans } = makeTrace();
  await send(target, spans.slice(-1));
  await readAll(target, traceId, []);
  await send(target, spans.slice(0, -1));
  const text = await readAll(target, traceId, models);
  return models.every((model) => text.includes(model));
}

if (import.meta.main) {
  const text = { type: "string" } as const;
  const options = { url: text, read: text, header: { ...text, default: "" }, seconds: text };
  const { url = "", read = "", header, seconds = "10" } = parseArgs({ options }).values;
  const [name = "", ...value] = header.split(":");
  const target = { url, read, headers: name === "" ? {} : { [name]: value.join(":").trim() } };
  const { out } = processIo();
  out(`sent twice, stored ${await sendTwice(target)} times`);
  out(`calls after the end of their agent are stored: ${await sendLate(target)}`);
  out(`kill the service within ${seconds} s, and start it again`);
  const { acknowledged, lost } = await sendThroughKill(target, Number(seconds));
  out(`acknowledged ${acknowledged} traces, lost ${lost}`);
}
