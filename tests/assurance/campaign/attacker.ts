/** HTTP client of the attacking team: sends, paces and holds requests, and counts the responses. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Store } from "../../../kv/store.ts";

/** The requests that one team on the free plan sends to harm the service. */
export interface Attack {
  readonly name: string;
  /** One line of description: the requests, and what is large, slow or many about them. */
  readonly does: string;
  /**
   * Stores the data that the attack needs, and returns names of it, such as ids, cookies and paths.
   * Meanwhile the team is on the enterprise plan, to simulate days of preparation.
   */
  setUp?(attacker: Attacker): Promise<string[]>;
  /** Writes data into the ledger, with the service stopped, if requests would take too long. */
  fill?(store: Store, team: TeamId): Promise<void>;
  /** Attacks until the attacker's signal aborts. */
  run(attacker: Attacker, stored: readonly string[]): Promise<unknown>;
}

/**
 * Requests per second: the limits of the free plan plus a tenth, so that some are always refused.
 */
export const RATE = { ingest: 110, control: 220 } as const;

/** Burst that the free plan allows. */
const BURST = 200;

/** Default maximum of requests that one attack has in flight. */
const IN_FLIGHT_MAX = 300;

/** Default maximum of readers that wait for a response. */
const READERS = 64;

/** Milliseconds before a broken connection is reopened. */
const REOPEN_MS = 50;

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** Address of the service and the attacker's credential. */
export interface Target {
  readonly url: string;
  readonly key: string;
}

/** Number of responses by status, and of other outcomes by name. */
export type Counts = Record<string, number>;

/** Body, headers and credential of a request. */
interface RequestOptions {
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
  /** Null sends no credential. */
  readonly key?: string | null;
}

/** A response with its complete body. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

export class Attacker {
  readonly counts: Counts = {};
  /** Broken promises of the service that the attack itself detected. */
  readonly blames: string[] = [];
  readonly url: string;
  readonly key: string;
  readonly signal: AbortSignal;

  constructor({ url, key }: Target, signal: AbortSignal) {
    this.url = url;
    this.key = key;
    this.signal = signal;
  }

  /** Counts a response status or another outcome. */
  count(what: string | number): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** Records a broken promise of the service, once per text. */
  blame(text: string): void {
    if (!this.blames.includes(text)) this.blames.push(text);
  }

  /** Sends a request and counts the response; null if there was none. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer | null> {
    const { body, headers, key = this.key } = options;
    try {
      const response = await fetch(this.url + path, {
        method,
        redirect: "manual",
        signal: this.signal,
        headers: {
          // Without this header fetch requests gzip, and both sides spend most time on compression.
          "Accept-Encoding": "identity",
          ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      this.count(response.status);
      return { status: response.status, headers: response.headers, bytes };
    } catch {
      this.count(this.signal.aborted ? "unanswered at the end" : "no answer");
      return null;
    }
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer | null> {
    return this.send("GET", path, { headers });
  }

  /** Posts JSON: a text, gzipped bytes, or a value to serialize. */
  post(path: string, body: unknown): Promise<Answer | null> {
    if (body instanceof Uint8Array) {
      const headers = { "Content-Encoding": "gzip" };
      return this.send("POST", path, { body: body as Uint8Array<ArrayBuffer>, headers });
    }
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return this.send("POST", path, { body: text });
  }

  /**
   * Starts `perSecond` requests a second, independent of response times. Skips requests while
   * `inFlightMax` are in flight.
   */
  async pace(
    perSecond: number,
    work: (n: number) => Promise<unknown>,
    inFlightMax: number = IN_FLIGHT_MAX,
  ): Promise<void> {
    const startMs = performance.now();
    const inFlight = new Set<Promise<unknown>>();
    for (let due = 0, n = 0; !this.signal.aborted; await delay(10)) {
      for (; due < (performance.now() - startMs) / 1_000 * perSecond; due++) {
        if (inFlight.size >= inFlightMax) continue;
        const working = work(n++).catch((error) => this.#failed(error))
          .finally(() => inFlight.delete(working));
        inFlight.add(working);
      }
    }
    await Promise.all(inFlight);
  }

  /** Runs `count` clients in parallel, each in a loop. For work that holds a connection or slot. */
  async clients(count: number, work: (client: number) => Promise<unknown>): Promise<void> {
    await Promise.all(Array.from({ length: count }, async (_, client) => {
      while (!this.signal.aborted) {
        await work(client).catch((error) => this.#failed(error));
        await delay(REOPEN_MS);
      }
    }));
  }

  /** Runs `work` `count` times, `atOnce` in parallel; the first failure ends it. For set-ups. */
  async times(count: number, work: (n: number) => Promise<unknown>, atOnce = 24): Promise<void> {
    let next = 0;
    await Promise.all(Array.from({ length: atOnce }, async () => {
      while (next < count) await work(next++);
    }));
  }

  /**
   * Keeps `count` connections in use and reopens each one that ends. Connections open in one burst,
   * then at the plan's request rate.
   */
  async hold(count: number, use: (socket: Socket, n: number) => Promise<unknown>): Promise<void> {
    const startMs = performance.now();
    let opened = 0;
    await this.clients(count, async (n) => {
      const dueMs = startMs + Math.max(0, ++opened - BURST) / RATE.ingest * 1_000;
      await delay(dueMs - performance.now(), this.signal);
      if (this.signal.aborted) return;
      using socket = await Socket.open(this.url, this.signal);
      this.count("connections");
      await use(socket, n);
    });
  }

  /** Reads paths in turn, at the rate limit of the plan. */
  read(
    paths: readonly string[],
    options: RequestOptions = {},
    readers: number = READERS,
  ): Promise<void> {
    const pathOf = (n: number) => paths[n % paths.length] ?? "";
    return this.pace(RATE.control, (n) => this.send("GET", pathOf(n), options), readers);
  }

  /** Sends a request on each of `count` connections and reads nothing of the response. */
  unread(count: number, head: string): Promise<void> {
    return this.hold(count, async (socket) => {
      await socket.send(head);
      await new Promise((resolve) => this.signal.addEventListener("abort", resolve));
    });
  }

  /** Sends a request on each of `count` connections and reads the response slowly. */
  sipped(count: number, head: string, bytesPerSecond: number): Promise<void> {
    return this.hold(count, async (socket) => {
      await socket.send(head);
      await this.answered(socket);
      while (await socket.take(bytesPerSecond) !== null) await delay(1_000, this.signal);
    });
  }

  /** Formats a request head with the team's key. */
  head(method: string, path: string, ...headers: string[]): string {
    const lines = [`${method} ${path} HTTP/1.1`, "Host: ledger"];
    return [...lines, `Authorization: Bearer ${this.key}`, ...headers].join("\r\n") + "\r\n\r\n";
  }

  /**
   * Counts the status of the next response on a connection; null if the connection closed first.
   */
  async answered(socket: Socket): Promise<number | null> {
    const status = await socket.status();
    if (!this.signal.aborted) this.count(status ?? "closed");
    return status;
  }

  #failed(error: unknown): void {
    if (this.signal.aborted) return;
    // Many attacks break connections on purpose; any other error is a bug in the attack.
    if (!isBroken(error)) throw error;
    this.count("broken");
  }
}

function isBroken(error: unknown): boolean {
  return [
    Deno.errors.BrokenPipe,
    Deno.errors.ConnectionReset,
    Deno.errors.ConnectionRefused,
    Deno.errors.ConnectionAborted,
    Deno.errors.BadResource,
    Deno.errors.Interrupted,
  ].some((kind) => error instanceof kind);
}

/** Maximum milliseconds for which a set-up retries a request that gets 503. */
const RETRY_MS_MAX = 60_000;

export async function sendUntilAccepted(send: () => Promise<Answer | null>): Promise<Answer> {
  const endMs = performance.now() + RETRY_MS_MAX;
  for (;;) {
    const answer = await send();
    if (answer?.status !== 503 || performance.now() > endMs) return must(answer);
    await delay(100);
  }
}

/** Throws if a set-up request was refused. */
export function must(answer: Answer | null): Answer {
  if (answer !== null && answer.status < 400) return answer;
  const text = answer === null ? "no answer" : decoder.decode(answer.bytes.subarray(0, 300));
  throw new Error(`The set-up was refused: ${answer?.status} ${text}`);
}

/** Parses the JSON body of a response. */
// deno-lint-ignore no-explicit-any -- attacks read responses of any shape
export function jsonOf(answer: Answer | null): any {
  return JSON.parse(decoder.decode(must(answer).bytes));
}

/** A connection with raw reads and writes. Always `using`. */
export class Socket implements Disposable {
  #closed = false;
  readonly #close = () => this[Symbol.dispose]();

  private constructor(readonly connection: Deno.TcpConn, readonly signal: AbortSignal) {
    signal.addEventListener("abort", this.#close, { once: true });
  }

  static async open(url: string, signal: AbortSignal): Promise<Socket> {
    const { hostname, port } = new URL(url);
    return new Socket(await Deno.connect({ hostname, port: Number(port) }), signal);
  }

  /** Sends all bytes. */
  async send(data: string | Uint8Array): Promise<void> {
    let remaining = typeof data === "string" ? encoder.encode(data) : data;
    while (remaining.length > 0) {
      remaining = remaining.subarray(await this.connection.write(remaining));
    }
  }

  /** Reads at most `bytes` bytes; returns their number, or null at the end. */
  async take(bytes: number): Promise<number | null> {
    return await this.connection.read(new Uint8Array(bytes));
  }

  /** Reads the start of a response; returns its status, or null if the connection closed. */
  async status(): Promise<number | null> {
    const bytes = new Uint8Array(1_024);
    const count = await this.connection.read(bytes);
    if (count === null) return null;
    return Number(decoder.decode(bytes.subarray(0, count)).split(" ", 2)[1]);
  }

  /** Reads everything until the service closes the connection. */
  async drain(): Promise<void> {
    while (await this.take(65_536) !== null);
  }

  [Symbol.dispose](): void {
    this.signal.removeEventListener("abort", this.#close);
    if (!this.#closed) this.connection.close();
    this.#closed = true;
  }
}

/** Waits `ms` milliseconds, or until the signal aborts. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, ms));
    signal?.addEventListener("abort", done, { once: true });
  });
}
