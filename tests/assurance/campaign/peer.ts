/**
 * Attackers and probes as workers, so that measurements do not include waits in a shared event loop.
 * A worker reports that it has started, works until it is stopped, and returns a result.
 */

/** Maximum milliseconds from the stop of a worker to its result. */
const END_MS_MAX = 20_000;

/** A message of a worker: an empty one says that it has started. */
type Reply<Result> = { readonly result?: Result; readonly error?: string };

/** A running worker. Always `using`. */
export class Peer<Result> implements Disposable {
  readonly #worker: Worker;
  readonly #started = Promise.withResolvers<void>();
  readonly #result = Promise.withResolvers<Result>();

  private constructor(script: string) {
    this.#worker = new Worker(new URL(script, import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }: MessageEvent<Reply<Result>>) => {
      if (data.error !== undefined) this.#fail(data.error);
      else if (data.result === undefined) this.#started.resolve();
      else this.#result.resolve(data.result);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(event.message);
    };
  }

  /** Starts a script of this folder and waits until it reports that it has started. */
  static async start<Result>(script: string, order: unknown): Promise<Peer<Result>> {
    const peer = new Peer<Result>(script);
    peer.#worker.postMessage(order);
    await peer.#started.promise;
    return peer;
  }

  /** Waits for the result of a worker that ends without `stop`. */
  done(): Promise<Result> {
    return this.#result.promise;
  }

  /** Ends the work and returns its result. */
  async stop(): Promise<Result> {
    this.#worker.postMessage("stop");
    const timer = setTimeout(() => this.#fail("The worker did not end in time"), END_MS_MAX);
    return await this.done().finally(() => clearTimeout(timer));
  }

  #fail(message: string): void {
    const error = new Error(message);
    // Whichever of the two is awaited throws it.
    for (const { promise, reject } of [this.#started, this.#result]) {
      promise.catch(() => {});
      reject(error);
    }
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}

/** Runs the work of a worker: takes its order, reports the start, and returns the result. */
export function workAsPeer<Order>(
  work: (order: Order, begin: () => void, signal: AbortSignal) => Promise<unknown>,
): void {
  // The parent has the same two members of its worker.
  const parent = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
  const stopping = new AbortController();
  parent.onmessage = ({ data }: MessageEvent<Order>) => {
    parent.onmessage = () => stopping.abort();
    work(data, () => parent.postMessage({}), stopping.signal).then(
      (result) => parent.postMessage({ result }),
      (error) => parent.postMessage({ error: error instanceof Error ? error.stack : `${error}` }),
    );
  };
}
