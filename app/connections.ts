/**
 * Serves each connection separately, so that a single one can be closed: an idle connection, one
 * that stops in the middle of a request head, or one whose request body was refused. Long responses
 * end when the process runs out of memory.
 */
import type { Memory } from "../domain/core/memory.ts";

/**
 * Maximum milliseconds a connection may be idle. `headMs` runs from its start to the end of the
 * first request head, `idleMs` from a response to the end of the next head. `refusedMs` starts with
 * the response to a request whose body was refused: nothing reads the rest of that body.
 */
const LIMITS = { headMs: 15_000, idleMs: 75_000, refusedMs: 2_000 };

export type ConnectionLimits = Readonly<typeof LIMITS>;

/** Milliseconds between checks of all connections. */
const CHECK_MS = 250;

/** Milliseconds after which a response in progress counts as long. */
const LONG_MS = 1_000;

/**
 * Growth of the process, in bytes, before more long responses are ended: something else may be
 * using the memory.
 */
const GROWTH_BYTES = 32_000_000;

/** Maximum milliseconds a connection without requests may take to close at shutdown. */
const CLOSE_MS = 500;

/** Milliseconds before the next attempt to accept a connection when no file descriptor is free. */
const RETRY_MS = 50;

/** Answers a request, and notifies its connection when the request begins and ends. */
export type ServeRequest = (
  request: Request,
  info: Deno.ServeHandlerInfo,
  connection: ServedConnection | null,
) => Promise<Response>;

/** Serves the requests of one connection. */
type ServeConnection = (
  connection: Deno.Conn,
  signal: { addEventListener(abort: "abort", cancel: () => void): void },
  answer: (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>,
  onError: (error: unknown) => Response,
  onListen: () => void,
) => Deno.HttpServer;

/**
 * Internal function of the runtime, which may change: no public API closes a single connection.
 * Null if it does not have the expected form.
 */
const serveConnection = internalFunction("serveHttpOnConnection", 5);

function internalFunction(name: string, parameters: number): ServeConnection | null {
  const { internal } = Deno as unknown as { readonly internal?: symbol };
  const own = internal === undefined ? {} : Reflect.get(Deno, internal);
  const candidate: unknown = Reflect.get(Object(own), name);
  return typeof candidate === "function" && candidate.length === parameters
    ? candidate as ServeConnection
    : null;
}

/** A clock that is read once per check. */
interface Clock {
  nowMs: number;
}

export class ServedConnection {
  server: Deno.HttpServer | null = null;
  /** Closes the connection immediately; throws if it is already closed. */
  cancel: () => void = () => {};
  /** Number of requests in progress. */
  requests = 0;
  /** Time at which the first request in progress arrived. */
  busySinceMs = 0;
  /** Time at which the connection is closed unless a request arrives. */
  closesAtMs: number;
  #idleMs: number;
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;

  /** Creates a new connection. */
  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#idleMs = limits.idleMs;
    this.closesAtMs = clock.nowMs + limits.headMs;
  }

  /** Records that a request arrived. */
  begin(request: Request, info: Deno.ServeHandlerInfo): void {
    if (this.requests++ === 0) this.busySinceMs = this.#clock.nowMs;
    // Streamed responses are complete once they are sent.
    if (!isShort(request)) info.completed.then(() => this.#over(), () => this.#over());
  }

  /** Records that the response was created. */
  end(request: Request, status: number): void {
    const { idleMs, refusedMs } = this.#limits;
    this.#idleMs = isUnread(request, status) ? refusedMs : idleMs;
    if (isShort(request)) this.#over();
  }

  #over(): void {
    this.requests--;
    this.closesAtMs = this.#clock.nowMs + this.#idleMs;
  }
}

/** The connections of one listener. */
export class Connections {
  readonly #answer: ServeRequest;
  readonly #onError: (error: unknown) => Response;
  readonly #listener: Deno.TcpListener;
  readonly #limits: ConnectionLimits;
  readonly #memoryBytesMax: number;
  readonly #clock: Clock = { nowMs: performance.now() };
  readonly #open = new Set<ServedConnection>();
  readonly #timer: ReturnType<typeof setInterval>;
  #isClosing = false;
  /**
   * Lowest resident bytes since long responses were last ended; 0 while there is enough memory.
   */
  #leastBytes = 0;

  /** Serves a listener; `close` closes it. */
  constructor(
    listener: Deno.TcpListener,
    answer: ServeRequest,
    onError: (error: unknown) => Response,
    memory: Memory | null = null,
    limits: ConnectionLimits = LIMITS,
  ) {
    this.#listener = listener;
    this.#answer = answer;
    this.#onError = onError;
    this.#memoryBytesMax = memory?.targetBytes ?? Infinity;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    void this.#accept();
  }

  /** True if this runtime can serve connections separately. */
  static get isPossible(): boolean {
    return serveConnection !== null;
  }

  /** Stops accepting connections, and closes each one once its responses are sent. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    this.#listener.close();
    await Promise.all(Array.from(this.#open, closed));
  }

  async #accept(): Promise<void> {
    for (;;) {
      try {
        const socket = await this.#listener.accept();
        if (this.#isClosing) return socket.close();
        this.#serve(socket);
      } catch {
        if (this.#isClosing) return;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #serve(socket: Deno.Conn): void {
    const connection = new ServedConnection(this.#limits, this.#clock);
    // A runtime AbortSignal would report a failing listener to the process.
    const signal = {
      addEventListener: (_: "abort", cancel: () => void) => void (connection.cancel = cancel),
    };
    const answer = (request: Request, info: Deno.ServeHandlerInfo) =>
      this.#answer(request, info, connection);
    const server = serveConnection!(socket, signal, answer, this.#onError, () => {});
    connection.server = server;
    this.#open.add(connection);
    const forget = () => void this.#open.delete(connection);
    // `finished` rejects when the client drops the connection. The server retains its resources
    // until it is shut down.
    server.finished.catch(() => server.shutdown()).then(forget, forget);
  }

  #check(): void {
    // Events since the last check were recorded with the time of that check.
    const lastMs = this.#clock.nowMs;
    this.#clock.nowMs = performance.now();
    for (const connection of this.#open) {
      if (connection.requests === 0 && lastMs >= connection.closesAtMs) cancel(connection);
    }
    if (this.#isShortOfMemory()) this.#endLongAnswers();
  }

  #isShortOfMemory(): boolean {
    const { rss } = Deno.memoryUsage();
    if (rss < this.#memoryBytesMax - GROWTH_BYTES) this.#leastBytes = 0;
    if (rss < this.#memoryBytesMax) return false;
    this.#leastBytes = Math.min(this.#leastBytes, rss);
    if (rss < this.#leastBytes + GROWTH_BYTES) return false;
    this.#leastBytes = rss;
    return true;
  }

  /**
   * Ends the newer half of the long responses. While a response is in progress, the runtime buffers
   * everything its client sends, without a limit and without counting it.
   */
  #endLongAnswers(): void {
    const { nowMs } = this.#clock;
    // Of connections that began between the same two checks, the newer one comes first.
    const long = Array.from(this.#open).reverse()
      .filter(({ requests, busySinceMs }) => requests > 0 && nowMs - busySinceMs >= LONG_MS)
      .sort((a, b) => b.busySinceMs - a.busySinceMs);
    for (const connection of long.slice(0, Math.ceil(long.length / 2))) cancel(connection);
  }
}

/**
 * Returns whether a response is complete when it is passed to the runtime: responses to POST are
 * never streamed.
 */
function isShort(request: Request): boolean {
  return request.method === "POST";
}

/** Returns whether a request was refused before its body was read completely. */
function isUnread(request: Request, status: number): boolean {
  if (status < 400 || request.method === "GET" || request.method === "HEAD") return false;
  return !request.bodyUsed || status === 408 || status === 413 || status === 503;
}

/** Closes a connection immediately, unless the client has just closed it. */
function cancel(connection: ServedConnection): void {
  try {
    connection.cancel();
  } catch {
    // Already closed.
  }
}

/**
 * Closes a connection once its responses are sent. A connection without requests may be in the
 * middle of a body.
 */
async function closed({ server, requests }: ServedConnection): Promise<void> {
  const end = server!.shutdown().catch(() => {});
  if (requests > 0) return await end;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([end, late]);
  clearTimeout(timer);
}
