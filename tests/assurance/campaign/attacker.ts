/** The attacking team's client: how attacks send, pace and hold requests, and count the answers. */
import { delay } from "./delay.ts";

/** What the plan free lets through, and a tenth more, so that some are always refused. */
export const RATE = { ingest: 110, control: 220 } as const;

/** What the plan free lets through at once. */
const BURST = 200;

/** Requests of one attack that may wait for their answer, unless it says otherwise. */
const IN_FLIGHT_MAX = 300;

/** Milliseconds before a connection that broke is opened again. */
const REOPEN_MS = 50;

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** Where the service is, and who attacks it. */
export interface Target {
  readonly url: string;
  /** A key of the attacking team with every scope. */
  readonly key: string;
}

/** How often each status was answered, and whatever else happened. */
export type Counts = Record<string, number>;

/** A request. */
export interface Sent {
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
  /** Null sends no credential. */
  readonly key?: string | null;
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

/** The attacking team. */
export class Attacker {
  readonly counts: Counts = {};
  /** Promises of the service that the attack itself saw broken. */
  readonly blames: string[] = [];
  readonly url: string;
  readonly key: string;
  readonly signal: AbortSignal;

  constructor({ url, key }: Target, signal: AbortSignal) {
    this.url = url;
    this.key = key;
    this.signal = signal;
  }

  /** Counts an answer, or anything else worth a number. */
  count(what: string | number): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** Notes a promise of the service that was broken, once. */
  blame(text: string): void {
    if (!this.blames.includes(text)) this.blames.push(text);
  }

  /** Sends a request, reads the answer to its end and counts it; null when there was none. */
  async send(method: string, path: string, sent: Sent = {}): Promise<Answer | null> {
    const { body, headers, key = this.key } = sent;
    try {
      const response = await fetch(this.url + path, {
        method,
        redirect: "manual",
        signal: this.signal,
        headers: {
          // Otherwise the client itself asks for gzip, and both sides only compress.
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

  /** Posts JSON, given as a text, as bytes of gzip, or as a value. */
  post(path: string, body: unknown): Promise<Answer | null> {
    if (body instanceof Uint8Array) {
      const headers = { "Content-Encoding": "gzip" };
      return this.send("POST", path, { body: body as Uint8Array<ArrayBuffer>, headers });
    }
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return this.send("POST", path, { body: text });
  }

  /**
   * Starts so many requests a second, however long their answers take; beyond a number of those that
   * wait, the next ones are left out.
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

  /** Has so many clients work, each as soon as its last work is done; for what holds its place. */
  async clients(count: number, work: (client: number) => Promise<unknown>): Promise<void> {
    await Promise.all(Array.from({ length: count }, async (_, client) => {
      while (!this.signal.aborted) {
        await work(client).catch((error) => this.#failed(error));
        await delay(REOPEN_MS);
      }
    }));
  }

  /** Does something so many times, some at once; the first failure ends it. For set-ups. */
  async times(count: number, work: (n: number) => Promise<unknown>, atOnce = 24): Promise<void> {
    let next = 0;
    await Promise.all(Array.from({ length: atOnce }, async () => {
      while (next < count) await work(next++);
    }));
  }

  /**
   * Keeps so many connections in use; each is opened again once its use has ended. At first and then
   * in each second as many are opened as the plan lets requests through.
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

  /** The head of a request with the team's key. */
  head(method: string, path: string, ...headers: string[]): string {
    const lines = [`${method} ${path} HTTP/1.1`, "Host: ledger"];
    return [...lines, `Authorization: Bearer ${this.key}`, ...headers].join("\r\n") + "\r\n\r\n";
  }

  /** Sends a request and closes the connection without waiting for the answer. */
  async leave(request: string | Uint8Array): Promise<void> {
    using socket = await Socket.open(this.url, this.signal);
    await socket.send(request);
    // The request must have arrived, or there is nothing to leave behind.
    await delay(5);
    this.count("left");
  }

  /** Counts the status of the next answer on a connection; null when it was closed without one. */
  async answered(socket: Socket): Promise<number | null> {
    const status = await socket.status();
    if (!this.signal.aborted) this.count(status ?? "closed");
    return status;
  }

  #failed(error: unknown): void {
    if (this.signal.aborted) return;
    // A broken connection is what many attacks are about; any other error is one of the attack.
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

/** Milliseconds for which a set-up repeats a request that the service has no time for. */
const RETRY_MS_MAX = 60_000;

/** Sends a request of a set-up until it is taken. */
export async function taken(send: () => Promise<Answer | null>): Promise<Answer> {
  const endMs = performance.now() + RETRY_MS_MAX;
  for (;;) {
    const answer = await send();
    if (answer?.status !== 503 || performance.now() > endMs) return must(answer);
    await delay(100);
  }
}

/** Fails a set-up whose request was refused. */
export function must(answer: Answer | null): Answer {
  if (answer !== null && answer.status < 400) return answer;
  const text = answer === null ? "no answer" : decoder.decode(answer.bytes.subarray(0, 300));
  throw new Error(`The set-up was refused: ${answer?.status} ${text}`);
}

/** The JSON of an answer. */
// deno-lint-ignore no-explicit-any -- attacks look into any answer
export function jsonOf(answer: Answer | null): any {
  return JSON.parse(decoder.decode(must(answer).bytes));
}

/** A connection whose bytes the attack writes and reads itself. Always `using`. */
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
    let rest = typeof data === "string" ? encoder.encode(data) : data;
    while (rest.length > 0) rest = rest.subarray(await this.connection.write(rest));
  }

  /** Takes at most so many bytes; their number, or null at the end. */
  async take(bytes: number): Promise<number | null> {
    return await this.connection.read(new Uint8Array(bytes));
  }

  /** Reads the beginning of an answer; its status, or null when the connection was closed. */
  async status(): Promise<number | null> {
    const bytes = new Uint8Array(1_024);
    const count = await this.connection.read(bytes);
    if (count === null) return null;
    return Number(decoder.decode(bytes.subarray(0, count)).split(" ", 2)[1]);
  }

  /** Takes a few bytes now and then until the service closes the connection. */
  async sip(bytes: number, everyMs: number): Promise<void> {
    while (await this.take(bytes) !== null) await delay(everyMs, this.signal);
  }

  /** Takes whatever is sent until the service closes the connection. */
  async drain(): Promise<void> {
    while (await this.take(65_536) !== null);
  }

  [Symbol.dispose](): void {
    this.signal.removeEventListener("abort", this.#close);
    if (!this.#closed) this.connection.close();
    this.#closed = true;
  }
}
