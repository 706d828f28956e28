/** An HTTP receiver of webhooks. */

/** A request that it got. */
interface Received {
  readonly id: string;
  /** Event and agent of a webhook's incident, such as `incident.opened nightly`. */
  readonly message: string;
  readonly headers: Headers;
  readonly body: string;
  /** Time, unix milliseconds. */
  readonly at: number;
}

/** A running receiver. Always `await using`. */
export class WebhookReceiver implements AsyncDisposable {
  readonly received: Received[] = [];
  /** Returns the answer of a request; `null` for none. */
  answer: (received: Received) => number | null = () => 204;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #silence = Promise.withResolvers<void>();
  #waiting: (() => void)[] = [];

  private constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#receive(request),
    );
  }

  static start(): WebhookReceiver {
    return new WebhookReceiver();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/hook`;
  }

  async until(isEnough: (received: readonly Received[]) => boolean): Promise<void> {
    while (!isEnough(this.received)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #receive(request: Request): Promise<Response> {
    const body = await request.text();
    const received: Received = {
      id: request.headers.get("webhook-id") ?? "",
      message: messageOf(body),
      headers: request.headers,
      body,
      at: Date.now(),
    };
    this.received.push(received);
    const status = this.answer(received);
    for (const wake of this.#waiting.splice(0)) wake();
    if (status === null) await this.#silence.promise;
    return new Response(null, { status: status ?? 503 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#silence.resolve();
    await this.#server.shutdown();
  }
}

function messageOf(body: string): string {
  const { type, data } = JSON.parse(body);
  return `${type} ${data?.incident?.group?.agent}`;
}
