/** The HTTP server, from listening to the last answer. */
import { DRAIN_MS_MAX } from "../domain/core/limits.ts";
import type { Memory } from "../domain/core/memory.ts";
import { type ConnectionLimits, Connections, type ServeRequest } from "./connections.ts";
import { BrokenOff } from "../routes/http/paced_streams.ts";

/** What is left of the drain time for the commits under way. */
const STORE_CLOSE_MS = 1_000;

/** Connections that may wait to be taken: of those beyond, clients hear nothing for a second and more. */
const CONNECTIONS_WAITING_MAX = 4_096;

/** A running server. */
export interface RunningServer {
  /** Where it listens. */
  readonly url: string;
  /** Stops taking requests and waits for the ones under way, at most the drain time. */
  drain(): Promise<void>;
}

/** Requests that began before the signal to stop, or those that came after it. */
interface Cohort {
  count: number;
  readonly done: PromiseWithResolvers<void>;
}

/** What is served, and how it is closed. */
interface Listening {
  readonly port: number;
  /** Takes no more connections, and resolves when the answers under way are sent. */
  close(): Promise<void>;
}

/** What a server is made from. */
interface ServeOptions {
  /** How large the process may be before long answers end; without it they do not. */
  readonly memory?: Memory;
  /** How long a connection may be idle. */
  readonly limits?: ConnectionLimits;
}

/** Serves an application. */
export function serve(
  fetch: (request: Request, connection: Deno.ServeHandlerInfo) => Response | Promise<Response>,
  hostname: string,
  port: number,
  options: ServeOptions = {},
): RunningServer {
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

  /** The runtime's own shutdown breaks bodies that are still arriving, so it comes last. */
  async function finish(): Promise<void> {
    const before = cohort;
    cohort = { count: 0, done: Promise.withResolvers() };
    if (before.count > 0) await before.done.promise;
    await listening.close();
  }

  return {
    url: `http://${host}:${listening.port}`,
    async drain() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      // A stuck client must not eat the time the store needs to close within the same limit.
      const timer = setTimeout(resolve, DRAIN_MS_MAX - STORE_CLOSE_MS);
      await Promise.race([finish(), late]);
      clearTimeout(timer);
    },
  };
}

/** Listens. A runtime that cannot serve connections one by one closes none of them by itself. */
function listen(
  hostname: string,
  port: number,
  { memory, limits }: ServeOptions,
  answer: ServeRequest,
): Listening {
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
  // The connection ends with an answer that was broken off. Anything else is a bug, and reported like
  // every other unhandled rejection.
  if (!(error instanceof BrokenOff)) void Promise.reject(error);
  return new Response(null, { status: 500 });
}
