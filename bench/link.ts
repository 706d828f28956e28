/** A slow network between services and a store: forwards bytes after half of a round trip. */

/** A running link. */
export class Link implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #target: number;
  readonly #delayMs: number;
  readonly #open = new Set<Deno.TcpConn>();
  readonly #ended: Promise<unknown>;

  /**
   * Starts a link to a port of this machine.
   *
   * @param roundTripMs added milliseconds of a request and its answer
   */
  constructor(target: number, roundTripMs: number) {
    this.#target = target;
    this.#delayMs = roundTripMs / 2;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#ended = this.#accept();
  }

  /** Port for the services. */
  get port(): number {
    return this.#listener.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) close(connection);
    await this.#ended;
  }

  async #accept(): Promise<void> {
    const pumps: Promise<void>[] = [];
    for await (const client of this.#listener) {
      const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
      for (const connection of [client, server]) {
        connection.setNoDelay(true);
        this.#open.add(connection);
      }
      pumps.push(this.#pump(client, server), this.#pump(server, client));
    }
    await Promise.all(pumps);
  }

  /** Forwards bytes in their order; the end of a connection ends both. */
  async #pump(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
    let sent = Promise.resolve();
    try {
      for await (const bytes of from.readable) {
        const travelled = new Promise((resolve) => setTimeout(resolve, this.#delayMs));
        sent = sent.then(() => travelled).then(() => writeAll(to, bytes)).catch(() => {});
      }
      await sent;
    } catch {
      // A process was ended.
    }
    for (const connection of [from, to]) {
      close(connection);
      this.#open.delete(connection);
    }
  }
}

async function writeAll(to: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  while (bytes.length > 0) bytes = bytes.subarray(await to.write(bytes));
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // It is closed.
  }
}
