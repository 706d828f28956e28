/** A real HTTP receiver on a loopback address, which answers, or misbehaves, as each test says. */
import { RECEIVER_CERTIFICATE } from "./certificates.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Writes an answer, or misbehaves; the connection is closed when it returns. */
export type Behavior = (
  connection: ReceiverConnection,
  request: ReceivedRequest,
) => Promise<void> | void;

interface ReceiverConnection {
  write(text: string): Promise<void>;
  /** Resolves when the client closes the connection. */
  readonly closed: Promise<void>;
}

/** Answers with a status, and has an exact length. */
export function answer(status: number, headers: HeadersInit = {}, body = ""): Behavior {
  const all = new Headers(headers);
  all.set("content-length", String(new TextEncoder().encode(body).length));
  const lines = [...all].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return (connection) => connection.write(`HTTP/1.1 ${status} X\r\n${lines}\r\n${body}`);
}

/** Answers nothing until the client leaves. */
export const SILENT: Behavior = ({ closed }) => closed;

/** Closes the connection of a request without an answer. */
export const HANG_UP: Behavior = () => {};

/** A receiver. Always `await using`. */
export class Receiver implements AsyncDisposable {
  connections = 0;
  readonly requests: ReceivedRequest[] = [];
  behavior: Behavior;
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #open = new Set<Promise<void>>();
  readonly #connections = new Set<Deno.Conn>();

  constructor(behavior: Behavior = answer(200), options: { readonly tls?: boolean } = {}) {
    this.behavior = behavior;
    const where = { hostname: "127.0.0.1", port: 0 };
    this.#listener = options.tls
      ? Deno.listenTls({ ...where, ...RECEIVER_CERTIFICATE })
      : Deno.listen(where);
    this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      this.connections++;
      this.#connections.add(connection);
      const served: Promise<void> = this.#serve(connection).catch(() => {}).finally(() => {
        this.#connections.delete(connection);
        this.#open.delete(served);
        try {
          connection.close();
        } catch {
          // It was closed by the test's end.
        }
      });
      this.#open.add(served);
    }
  }

  async #serve(connection: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    let text = "";
    const read = async () => {
      const size = await connection.read(buffer).catch(() => null);
      // One character a byte; the decoder of latin1 would read 0x80 to 0x9f as Windows does.
      if (size !== null) text += String.fromCharCode(...buffer.subarray(0, size));
      return size !== null;
    };
    while (!text.includes("\r\n\r\n")) if (!await read()) return;
    const end = text.indexOf("\r\n\r\n");
    const [first = "", ...lines] = text.slice(0, end).split("\r\n");
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const at = line.indexOf(":");
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    );
    const length = Number(headers.get("content-length"));
    while (text.length - end - 4 < length) if (!await read()) return;
    const bytes = Uint8Array.from(text.slice(end + 4), (byte) => byte.charCodeAt(0));
    const [method = "", path = ""] = first.split(" ");
    const request = { method, path, headers, body: new TextDecoder().decode(bytes) };
    this.requests.push(request);
    const closed = (async () => {
      while (await read());
    })();
    const write = async (part: string) => {
      const rest = new TextEncoder().encode(part);
      for (let at = 0; at < rest.length;) at += await connection.write(rest.subarray(at));
    };
    await this.behavior({ write, closed }, request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) connection.close();
    await Promise.all(this.#open);
  }
}
