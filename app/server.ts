/**
 * The HTTP server, from listening to the last response. It is the runtime's own, on every platform:
 * a proxy in front bounds connections that send nothing, as `docs/OPERATIONS.md` says.
 */
import { DRAIN_MS_MAX } from "../domain/core/limits.ts";
import { endsWithin } from "../runtime/deadlines.ts";
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
  /** True if the runtime replaces the address. */
  readonly isAddressOverridden?: boolean;
  /** Maximum milliseconds of a drain, with the time to close the store. */
  readonly drainMs?: number;
}

export function serve(
  fetch: (request: Request, connection: Deno.ServeHandlerInfo) => Response | Promise<Response>,
  hostname: string,
  port: number,
  { isAddressOverridden = false, drainMs = DRAIN_MS_MAX }: ServeOptions = {},
) {
  let cohort: Cohort = { count: 0, done: Promise.withResolvers() };
  const address = { hostname, port, tcpBacklog: CONNECTIONS_WAITING_MAX };
  const server = Deno.serve({ ...address, onListen() {}, onError }, async (request, info) => {
    const ownCohort = cohort;
    ownCohort.count++;
    try {
      return await fetch(request, info);
    } finally {
      if (--ownCohort.count === 0 && ownCohort !== cohort) ownCohort.done.resolve();
    }
  });
  /** The runtime's shutdown aborts request bodies that are still arriving, so it comes last. */
  async function finish(): Promise<void> {
    const before = cohort;
    cohort = { count: 0, done: Promise.withResolvers() };
    if (before.count > 0) await before.done.promise;
    await server.shutdown();
  }

  return {
    /** URL or other address that the server listens on. */
    url: urlOf(server.addr, isAddressOverridden ? null : hostname),
    /** Stops accepting requests and waits for those in progress, at most the drain time. */
    async drain() {
      // A stuck client must not use up the time the store needs to close within the same limit.
      await endsWithin(drainMs - STORE_CLOSE_MS, finish());
    },
  };
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
