/** A receiver of webhooks that keeps what it gets, and fails at times. */

/** A request that the receiver accepted. */
export interface ReceivedMessage {
  /** Identifier of the delivery. */
  readonly id: string;
  readonly type: string;
  /** Identifier of the incident. */
  readonly incident: string;
}

/** A receiver on this machine. Always `await using`. */
export class Receiver implements AsyncDisposable {
  /** Messages in the order of their arrival, with repeated ones. */
  readonly messages: ReceivedMessage[] = [];
  /** Answers 503 to the next so many requests. */
  failures = 0;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(options, (request) => this.#receive(request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/in`;
  }

  async #receive(request: Request): Promise<Response> {
    const { type, data } = await request.json();
    if (this.failures > 0) {
      this.failures--;
      return new Response(null, { status: 503 });
    }
    const id = request.headers.get("webhook-id") ?? "";
    this.messages.push({ id, type, incident: data.incident.id });
    return new Response(null, { status: 204 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
