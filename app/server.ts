/** The HTTP server, from listening to the last response. */
import { DRAIN_MS_MAX } from "../domain/core/limits.ts";
import type { Memory } from "../domain/core/memory.ts";
import { type ConnectionLimits, Connections, type ServeRequest } from "./connections.ts";
import { BrokenOff } from "../routes/http/paced_streams.ts";

/** Milliseconds of the drain time reserved for commits in progress. */
const STORE_CLOSE_MS = 1_000;

/**
 * Maximum connections waiting to be accepted. Further clients get no reply for a second or more.
 */
const CONNECTIONS_WAITING_MAX = 4_096;

export type RunningServer = ReturnType<typeof serve>;

/** The requests that began before the stop signal, or that arrived after it. */
interface Cohort {
  count: number;
  readonly done: PromiseWithResolvers<void>;
}

interface ServeOptions {
  /** Memory target above which long responses are ended; without it they never are. */
  readonly memory?: Memory;
  /** Idle limits of connections. */
  readonly limits?: ConnectionLimits;
}

export function serve(
  fetch: (request: Request, connection: Deno.ServeHandlerInfo) => Response | Promise<Response>,
  hostname: string,
  port: number,
  options: ServeOptions = {},
) {
  let cohort: Cohort = { count: 0, done: Promise.withResolvers() };
  const listening = listen(hostname, port, options, async (request, info, connection) => {
    const mine = cohort;
    mine.count++;
    connection?.begin(request, info);
    let status = 500;
    try {
      const response = await fetch(request, info);
      status = response.status;
      return response;
    } finally {
      connection?.end(request, status);
      if (--mine.count === 0 && mine !== cohort) mine.done.resolve();
    }
  });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;

  /** The runtime's shutdown aborts request bodies that are still arriving, so it comes last. */
  async function finish(): Promise<void> {
    const before = cohort;
    cohort = { count: 0, done: Promise.withResolvers() };
    if (before.count > 0) await before.done.promise;
    await listening.close();
  }

  return {
    /** URL the server listens on. */
    url: `http://${host}:${listening.port}`,
    /** Stops accepting requests and waits for those in progress, at most the drain time. */
    async drain() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      // A stuck client must not use up the time the store needs to close within the same limit.
      const timer = setTimeout(resolve, DRAIN_MS_MAX - STORE_CLOSE_MS);
      await Promise.race([finish(), late]);
      clearTimeout(timer);
    },
  };
}

/**
 * Starts listening; `close` stops accepting connections, and resolves when all responses are sent.
 * If the runtime cannot serve connections separately, no single connection is closed.
 */
function listen(
  hostname: string,
  port: number,
  { memory, limits }: ServeOptions,
  answer: ServeRequest,
) {
  const address = { hostname, port, tcpBacklog: CONNECTIONS_WAITING_MAX };
  if (!Connections.isPossible) {
    const server = Deno.serve(
      { ...address, onListen() {}, onError },
      (request, info) => answer(request, info, null),
    );
    return { port: server.addr.port, close: () => server.shutdown() };
  }
  const listener = Deno.listen(address);
  const connections = new Connections(listener, answer, onError, memory, limits);
  return { port: listener.addr.port, close: () => connections.close() };
}

function onError(error: unknown): Response {
  // A response was aborted, and the connection ends with it. Any other error is a bug, reported
  // like every unhandled rejection.
  if (!(error instanceof BrokenOff)) void Promise.reject(error);
  return new Response(null, { status: 500 });
}
