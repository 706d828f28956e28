/** A small receiver of OpenTelemetry data: OTLP over HTTP, in its JSON form. */

export interface Span {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Name of its service. */
  readonly service: unknown;
}

// deno-lint-ignore no-explicit-any -- the test checks whatever arrives
type Json = any;

/** Receives until it is disposed. Always `await using`. */
export class OtlpReceiver implements AsyncDisposable {
  readonly spans: Span[] = [];
  readonly metrics = new Set<string>();
  readonly texts: string[] = [];
  #arrived = Promise.withResolvers<void>();
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.#receive(request),
  );

  /** Value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#arrived.promise;
  }

  async #receive(request: Request): Promise<Response> {
    const text = await request.text();
    this.texts.push(text);
    const body: Json = JSON.parse(text);
    for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
      const service = attributesOf(resource)["service.name"];
      for (const span of scopeSpans.flatMap((scope: Json) => scope.spans ?? [])) {
        this.spans.push({ name: span.name, attributes: attributesOf(span), service });
      }
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const { name } of scopeMetrics.flatMap((scope: Json) => scope.metrics ?? [])) {
        this.metrics.add(name);
      }
    }
    const { resolve } = this.#arrived;
    this.#arrived = Promise.withResolvers();
    resolve();
    return Response.json({});
  }
}

function attributesOf({ attributes = [] }: Json): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }: Json) => [key, Object.values(value ?? {})[0]]),
  );
}
