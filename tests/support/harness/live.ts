/** Reading a live stream event by event. */
import { assert } from "@std/assert";
import type { Harness } from "./harness.ts";

/** An event of a stream; one without a name only tells the place. */
export interface Told {
  readonly event: string | null;
  readonly id: string | null;
  // deno-lint-ignore no-explicit-any -- tests look into any event
  readonly data: any;
}

export interface FollowOptions {
  readonly key?: string;
  readonly query?: string;
  readonly lastEventId?: string;
}

/** A listener. Always `await using`. */
export class Listener implements AsyncDisposable {
  /** The last place it was told. */
  place = "";
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #client: Deno.HttpClient;
  #text = "";

  private constructor(response: Response, client: Deno.HttpClient) {
    assert(response.body !== null);
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    this.#client = client;
  }

  /** Begins to listen; resolves once the stream has begun. */
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

  /** The next event, or place; null at the end. */
  async next(): Promise<Told | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const told = parseTold(this.#text.slice(0, end));
        this.#text = this.#text.slice(end + 2);
        if (told.id !== null) this.place = told.id;
        return told;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#text += value;
    }
  }

  /** The next events, so many. */
  async events(count: number): Promise<Told[]> {
    const found: Told[] = [];
    while (found.length < count) {
      const told = await this.next();
      assert(told !== null, `the stream ended after ${found.length} of ${count} events`);
      if (told.event !== null) found.push(told);
    }
    return found;
  }

  /** Everything up to the end of the stream. */
  async rest(): Promise<Told[]> {
    const found: Told[] = [];
    for (let told = await this.next(); told !== null; told = await this.next()) found.push(told);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    this.#client.close();
  }
}

/** Listens to a harness. */
export function follow(h: Harness, options: FollowOptions = {}): Promise<Listener> {
  return Listener.open(h.url, options.key ?? h.key, options);
}

/** What an event says in short: its name and the last digits of the run. */
export function briefly({ event, data }: Told): string {
  return `${event} ${Number.parseInt(String(data.id).slice(-6), 16)}`;
}

function parseTold(block: string): Told {
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
