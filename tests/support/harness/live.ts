/** Reads a live stream event by event. */
import { assert } from "@std/assert";
import type { Harness } from "./harness.ts";

/** An event of a stream; one without a name has only a position. */
export interface StreamEvent {
  readonly event: string | null;
  readonly id: string | null;
  // deno-lint-ignore no-explicit-any -- tests read events of any shape
  readonly data: any;
}

interface FollowOptions {
  readonly key?: string;
  readonly query?: string;
  readonly lastEventId?: string;
}

/** A listener. Always `await using`. */
export class Listener implements AsyncDisposable {
  lastId = "";
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #client: Deno.HttpClient;
  #text = "";

  private constructor(response: Response, client: Deno.HttpClient) {
    assert(response.body !== null);
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    this.#client = client;
  }

  /** Opens a stream; resolves when it has started. */
  static async open(url: string, key: string, options: FollowOptions = {}): Promise<Listener> {
    const { query = "", lastEventId } = options;
    const client = Deno.createHttpClient({});
    const last = lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId };
    const headers = { Authorization: `Bearer ${key}`, ...last };
    const response = await fetch(`${url}/v1/live${query}`, { headers, client });
    if (response.status !== 200) {
      const text = await response.text();
      client.close();
      throw new Error(text);
    }
    const listener = new Listener(response, client);
    const first = await listener.next();
    assert(first !== null && first.event === null && first.id !== null);
    return listener;
  }

  /** Returns the next event or position; null at the end. */
  async next(): Promise<StreamEvent | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const event = parseEvent(this.#text.slice(0, end));
        this.#text = this.#text.slice(end + 2);
        if (event.id !== null) this.lastId = event.id;
        return event;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#text += value;
    }
  }

  async events(count: number): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      assert(event !== null, `the stream ended after ${events.length} of ${count} events`);
      if (event.event !== null) events.push(event);
    }
    return events;
  }

  /** Returns everything up to the end of the stream. */
  async rest(): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) {
      events.push(event);
    }
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    this.#client.close();
  }
}

export function follow(h: Harness, options: FollowOptions = {}): Promise<Listener> {
  return Listener.open(h.url, options.key ?? h.key, options);
}

/** Formats an event briefly: its name and the last digits of the run. */
export function briefly({ event, data }: StreamEvent): string {
  return `${event} ${Number.parseInt(String(data.id).slice(-6), 16)}`;
}

function parseEvent(block: string): StreamEvent {
  const fields = new Map(
    block.split("\n").filter((line) => !line.startsWith(":")).map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)] as const;
    }),
  );
  const data = fields.get("data");
  return {
    event: fields.get("event") ?? null,
    id: fields.get("id") ?? null,
    data: data === undefined ? null : JSON.parse(data),
  };
}
