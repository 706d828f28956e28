/**
 * Connections, each served by itself: one that is idle, that stops in the middle of a head, or whose
 * body was refused is closed, and long answers end when the process has no memory left.
 */
import type { Memory } from "../domain/core/memory.ts";

/** Milliseconds that a connection may be idle. */
export interface ConnectionLimits {
  /** From its start to the end of its first head. */
  readonly headMs: number;
  /** From an answer to the end of the next head. */
  readonly idleMs: number;
  /** From an answer to a request whose body was refused: nothing reads the rest of that body. */
  readonly refusedMs: number;
}

const LIMITS: ConnectionLimits = { headMs: 15_000, idleMs: 75_000, refusedMs: 2_000 };

/** Milliseconds between two checks of all connections. */
const CHECK_MS = 250;

/** Milliseconds after which an answer under way is a long one. */
const LONG_MS = 1_000;

/** Bytes by which the process grows before more long answers end: it may be large for another reason. */
const GROWTH_BYTES = 32_000_000;

/** Milliseconds that a connection without requests may take to close at shutdown. */
const CLOSE_MS = 500;

/** Milliseconds before the next try when a connection cannot be accepted: no file is left for it. */
const RETRY_MS = 50;

/** Answers a request, and tells its connection when it begins and ends. */
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
 * The runtime has this function for its own use and may change it: nothing public ends one connection.
 * Null where it is not as expected.
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

/** A clock that is read once in each check. */
interface Clock {
  nowMs: number;
}

/** One connection. */
export class ServedConnection {
  server: Deno.HttpServer | null = null;
  /** Closes it at once; fails when it is closed. */
  cancel: () => void = () => {};
  /** Requests whose answers are under way. */
  requests = 0;
  /** When the first of them came. */
  busySinceMs = 0;
  /** When it is closed unless a request comes. */
  closesAtMs: number;
  #idleMs: number;
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;

  /** Creates one that has just begun. */
  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#idleMs = limits.idleMs;
    this.closesAtMs = clock.nowMs + limits.headMs;
  }

  /** Notes that a request came. */
  begin(request: Request, info: Deno.ServeHandlerInfo): void {
    if (this.requests++ === 0) this.busySinceMs = this.#clock.nowMs;
    // Streams are over when they are sent.
    if (!isShort(request)) info.completed.then(() => this.#over(), () => this.#over());
  }

  /** Notes that its answer was made. */
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

/** All connections of one listener. */
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
  /** Fewest bytes of the process since long answers were ended last; 0 while it has enough. */
  #leastBytes = 0;

  /** Serves a listener, which is closed with it. */
  constructor(
    listener: Deno.TcpListener,
    answer: ServeRequest,
    onError: (error: unknown) => Response,
    memory: Memory | null = null,
    limits = LIMITS,
  ) {
    this.#listener = listener;
    this.#answer = answer;
    this.#onError = onError;
    this.#memoryBytesMax = memory?.targetBytes ?? Infinity;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    void this.#accept();
  }

  /** True if this runtime can serve connections one by one. */
  static get isPossible(): boolean {
    return serveConnection !== null;
  }

  /** Accepts no more connections, and closes each once its answers are sent. */
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
    // A signal of the runtime would report the failure of its listener to the process.
    const signal = {
      addEventListener: (_: "abort", cancel: () => void) => void (connection.cancel = cancel),
    };
    const answer = (request: Request, info: Deno.ServeHandlerInfo) =>
      this.#answer(request, info, connection);
    const server = serveConnection!(socket, signal, answer, this.#onError, () => {});
    connection.server = server;
    this.#open.add(connection);
    const over = () => void this.#open.delete(connection);
    // It fails when the client breaks the connection, and then keeps what it holds until it is shut down.
    server.finished.catch(() => server.shutdown()).then(over, over);
  }

  #check(): void {
    // What happened since the last check was noted with the time of that one.
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
   * Ends the newer half of the long answers. While one is under way the runtime keeps whatever its client
   * sends, without a limit and without a count.
   */
  #endLongAnswers(): void {
    const { nowMs } = this.#clock;
    // Of those that began between the same two checks, the newer connection is the first.
    const long = Array.from(this.#open).reverse()
      .filter(({ requests, busySinceMs }) => requests > 0 && nowMs - busySinceMs >= LONG_MS)
      .sort((a, b) => b.busySinceMs - a.busySinceMs);
    for (const connection of long.slice(0, Math.ceil(long.length / 2))) cancel(connection);
  }
}

/** Returns whether an answer is over when it is handed to the runtime: one to a POST is no stream. */
function isShort(request: Request): boolean {
  return request.method === "POST";
}

/** Returns whether a request was refused before its body was read to its end. */
function isUnread(request: Request, status: number): boolean {
  if (status < 400 || request.method === "GET" || request.method === "HEAD") return false;
  return !request.bodyUsed || status === 408 || status === 413 || status === 503;
}

/** Closes a connection at once, unless its client has just done so. */
function cancel(connection: ServedConnection): void {
  try {
    connection.cancel();
  } catch {
    // It is closed.
  }
}

/** Closes a connection once its answers are sent. One without requests may be in the middle of a body. */
async function closed({ server, requests }: ServedConnection): Promise<void> {
  const end = server!.shutdown().catch(() => {});
  if (requests > 0) return await end;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([end, late]);
  clearTimeout(timer);
}
