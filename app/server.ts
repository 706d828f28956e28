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

/** A listening server. */
interface Listening {
  readonly addr: Deno.Addr;
  /** Stops accepting connections; resolves when all responses are sent. */
  readonly close: () => Promise<void>;
}

interface ServeOptions {
  /** Memory target above which long responses are ended; without it they never are. */
  readonly memory?: Memory;
  /** Idle limits of connections. */
  readonly limits?: ConnectionLimits;
  /** True if the runtime replaces the address; it does so only for its own server. */
  readonly isAddressOverridden?: boolean;
  /** Maximum milliseconds of a drain, with the time to close the store. */
  readonly drainMs?: number;
}

export function serve(
  fetch: (request: Request, connection: Deno.ServeHandlerInfo) => Response | Promise<Response>,
  hostname: string,
  port: number,
  options: ServeOptions = {},
) {
  const { drainMs = DRAIN_MS_MAX } = options;
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
  /** The runtime's shutdown aborts request bodies that are still arriving, so it comes last. */
  async function finish(): Promise<void> {
    const before = cohort;
    cohort = { count: 0, done: Promise.withResolvers() };
    if (before.count > 0) await before.done.promise;
    await listening.close();
  }

  return {
    /** URL or other address that the server listens on. */
    url: urlOf(listening.addr, options.isAddressOverridden ? null : hostname),
    /** Stops accepting requests and waits for those in progress, at most the drain time. */
    async drain() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      // A stuck client must not use up the time the store needs to close within the same limit.
      const timer = setTimeout(resolve, drainMs - STORE_CLOSE_MS);
      await Promise.race([finish(), late]);
      clearTimeout(timer);
    },
  };
}

/**
 * Starts listening. No single connection is closed if the runtime cannot serve them separately, or
 * chooses the address.
 */
function listen(
  hostname: string,
  port: number,
  { memory, limits, isAddressOverridden = false }: ServeOptions,
  answer: ServeRequest,
): Listening {
  const address = { hostname, port, tcpBacklog: CONNECTIONS_WAITING_MAX };
  if (isAddressOverridden || !Connections.isPossible) {
    const server = Deno.serve(
      { ...address, onListen() {}, onError },
      (request, info) => answer(request, info, null),
    );
    return { addr: server.addr, close: () => server.shutdown() };
  }
  const listener = Deno.listen(address);
  const connections = new Connections(listener, answer, onError, memory, limits);
  return { addr: listener.addr, close: () => connections.close() };
}

/** Returns the address as a URL; a socket without a port has none, and is named instead. */
function urlOf(addr: Deno.Addr, hostname: string | null): string {
  switch (addr.transport) {
    case "tcp": {
      const host = hostname ?? addr.hostname;
      return `http://${host.includes(":") ? `[${host}]` : host}:${addr.port}`;
    }
    case "unix":
      return `unix:${addr.path}`;
    default:
      return addr.transport;
  }
}

function onError(error: unknown): Response {
  // A response was aborted, and the connection ends with it. Any other error is a bug, reported
  // like every unhandled rejection.
  if (!(error instanceof BrokenOff)) void Promise.reject(error);
  return new Response(null, { status: 500 });
}
