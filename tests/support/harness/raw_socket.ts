/** Requests as raw bytes, for input that no HTTP client would send. */
import { BODY_DEADLINE_MS } from "../../../domain/core/limits.ts";
import { aRun } from "../builders/requests.ts";
import { assert, assertEquals } from "@std/assert";
import { type Harness, KEY } from "./harness.ts";

/**
 * Maximum milliseconds to wait for a response before the test fails. A response within them did not
 * wait for a body.
 */
const ANSWER_MS_MAX = BODY_DEADLINE_MS * 0.8;

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** A response with its body read. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** One connection. Always `using`. */
export class RawSocket implements Disposable {
  #received = new Uint8Array();
  #closed = false;
  readonly #connection: Deno.TcpConn;

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  static async open(url: string): Promise<RawSocket> {
    const { hostname, port } = new URL(url);
    return new RawSocket(await Deno.connect({ hostname, port: Number(port) }));
  }

  [Symbol.dispose](): void {
    if (!this.#closed) this.#connection.close();
    this.#closed = true;
  }

  async send(data: string | Uint8Array): Promise<void> {
    let rest = typeof data === "string" ? encoder.encode(data) : data;
    while (rest.length > 0) rest = rest.subarray(await this.#connection.write(rest));
  }

  /** Ends sending, and keeps reading. */
  async endSending(): Promise<void> {
    await this.#connection.closeWrite();
  }

  /**
   * Reads the next response, or `null` if the server closed the connection without one.
   *
   * @param bodiless true if it responds to a HEAD request
   */
  async answer(bodiless = false): Promise<RawAnswer | null> {
    const head = await this.#until("\r\n\r\n");
    if (head === null) return null;
    const [statusLine = "", ...lines] = head.split("\r\n");
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    const status = Number(statusLine.split(" ")[1]);
    const empty = bodiless || status < 200 || status === 204;
    return { status, headers, body: empty ? "" : await this.#body(headers) };
  }

  /** Reads everything until the server ends the connection, one character per byte. */
  async rest(): Promise<string> {
    while (await this.#more());
    const text = new TextDecoder("latin1").decode(this.#received);
    this.#received = new Uint8Array();
    return text;
  }

  /** Returns true if the server ends the connection without further bytes. */
  async ended(): Promise<boolean> {
    return this.#received.length === 0 && !await this.#more();
  }

  async #body(headers: Headers): Promise<string> {
    const length = headers.get("content-length");
    if (length !== null) return decoder.decode(await this.#bytes(Number(length)));
    if (headers.get("transfer-encoding") !== "chunked") return "";
    let body = "";
    for (;;) {
      const size = parseInt(await this.#until("\r\n") ?? "", 16);
      body += decoder.decode((await this.#bytes(size + 2)).subarray(0, size));
      if (size === 0) return body;
    }
  }

  async #until(mark: string): Promise<string | null> {
    for (;;) {
      const at = positionOf(mark, this.#received);
      if (at >= 0) {
        const text = decoder.decode(this.#received.subarray(0, at));
        this.#received = this.#received.subarray(at + mark.length);
        return text;
      }
      if (!await this.#more()) return null;
    }
  }

  async #bytes(count: number): Promise<Uint8Array> {
    while (this.#received.length < count) {
      if (!await this.#more()) throw new Error("The answer's body ended early");
    }
    const bytes = this.#received.subarray(0, count);
    this.#received = this.#received.subarray(count);
    return bytes;
  }

  /** Reads newly arrived bytes; false at the end. A silent server fails the test. */
  async #more(): Promise<boolean> {
    const silent = setTimeout(() => this[Symbol.dispose](), ANSWER_MS_MAX);
    const chunk = new Uint8Array(16_384);
    try {
      const count = await this.#connection.read(chunk);
      if (count === null) return false;
      const joined = new Uint8Array(this.#received.length + count);
      joined.set(this.#received);
      joined.set(chunk.subarray(0, count), this.#received.length);
      this.#received = joined;
      return true;
    } catch (error) {
      throw this.#closed ? new Error(`The server sent nothing for ${ANSWER_MS_MAX} ms`) : error;
    } finally {
      clearTimeout(silent);
    }
  }
}

/** Returns the position of an ASCII text in bytes, or -1. */
function positionOf(mark: string, bytes: Uint8Array): number {
  const first = mark.charCodeAt(0);
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    let same = 1;
    while (same < mark.length && bytes[at + same] === mark.charCodeAt(same)) same++;
    if (same === mark.length) return at;
  }
  return -1;
}

/** Formats the head of a request: its first line, its headers, and the empty line. */
export function head(...lines: string[]): string {
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Sends bytes on a separate connection and reads the one response. */
export async function ask(url: string, bytes: string | Uint8Array): Promise<RawAnswer | null> {
  using socket = await RawSocket.open(url);
  await socket.send(bytes);
  return await socket.answer();
}

/** Credential of every raw request. */
export const AUTH = `Authorization: Bearer ${KEY}`;

/** Formats a GET without a body. */
export function get(path: string, ...headers: string[]): string {
  return head(`GET ${path} HTTP/1.1`, ...headers);
}

/** Formats the head of a POST with a valid credential. */
export function post(headers: readonly string[], path = "/v1/runs"): string {
  return head(`POST ${path} HTTP/1.1`, "Host: x", AUTH, ...headers);
}

/** Formats a POST with these lines of chunks. */
export function chunked(...lines: string[]): string {
  return post(["Transfer-Encoding: chunked", "Connection: close"]) + lines.join("\r\n");
}

/** Returns the status and code of a refusal in the envelope. */
export function refusal(answer: RawAnswer | null): [number | undefined, string | undefined] {
  const isJson = answer?.headers.get("content-type") === "application/json";
  return [answer?.status, isJson ? JSON.parse(answer.body).error : undefined];
}

/** Runs an attack; fails if it changed the store, logged a 5xx, or broke the service. */
export async function unharmed(h: Harness, attack: () => Promise<void>): Promise<void> {
  const before = await h.dump();
  await attack();
  assertEquals(await h.dump(), before);
  assertEquals((await h.get("/readyz")).status, 200);
  for (const line of h.log) {
    const { status, failure } = JSON.parse(line);
    assert(failure === undefined && status < 500, line);
  }
}

/** Sends an invalid request: it must get a refusal or a closed connection, and nothing after it. */
export async function refused(h: Harness, name: string, bytes: string): Promise<void> {
  using socket = await RawSocket.open(h.url);
  await socket.send(bytes);
  const answer = await socket.answer();
  const status = answer?.status ?? 400;
  assert(status >= 400 && status < 500, `${name}: ${answer?.status} ${answer?.body}`);
  assert(await socket.ended(), `${name}: the connection stayed open`);
}

/** A valid body and its length, in headers and as a chunk size. */
export const BODY = JSON.stringify(aRun(1));
export const LENGTH = `Content-Length: ${BODY.length}`;
export const SIZE = BODY.length.toString(16);

/** A request hidden after an ambiguous one: it must never run. */
export const SMUGGLED = post([`Content-Length: ${JSON.stringify(aRun(2)).length}`]) +
  JSON.stringify(aRun(2));

const CHUNKED = "Transfer-Encoding: chunked", NO_CHUNK = "0\r\n\r\n";

/** Requests with two possible lengths, or none. */
export const AMBIGUOUS: Readonly<Record<string, string>> = {
  "length and chunks": post([LENGTH, CHUNKED]) + NO_CHUNK,
  "chunks and length": post([CHUNKED, "Content-Length: 5"]) + NO_CHUNK,
  "two lengths": post(["Content-Length: 5", LENGTH]) + BODY,
  "a list of lengths": post([`${LENGTH}, ${BODY.length}`]) + BODY,
  "a length with a sign": post([`Content-Length: +${BODY.length}`]) + BODY,
  "a negative length": post(["Content-Length: -1"]) + BODY,
  "a hexadecimal length": post([`Content-Length: 0x${SIZE}`]) + BODY,
  "a fraction of a length": post(["Content-Length: 1.5"]) + BODY,
  "a length beyond 64 bits": post(["Content-Length: 99999999999999999999"]) + BODY,
  "an empty length": post(["Content-Length:"]) + BODY,
  "a space before the colon": post([`Content-Length : ${BODY.length}`]) + BODY,
  "a space before the coding's colon": post(["Transfer-Encoding : chunked"]) + NO_CHUNK,
  "chunked not last": post(["Transfer-Encoding: chunked, gzip"]) + NO_CHUNK,
  "chunked twice": post([CHUNKED, CHUNKED]) + NO_CHUNK,
  "an unknown coding": post(["Transfer-Encoding: xchunked"]) + NO_CHUNK,
  "a coding after a vertical tab": post(["Transfer-Encoding: \x0bchunked"]) + NO_CHUNK,
  "chunks in HTTP/1.0": post([CHUNKED]).replace("1.1", "1.0") + NO_CHUNK,
  "a folded header": post([LENGTH, "X: a\r\n b"]) + BODY,
  "a bare CR in a header": post([LENGTH, "X: a\rb"]) + BODY,
  "NUL in a header": post([LENGTH, "X: a\0b"]) + BODY,
};

/** Invalid chunk sizes, or sizes that differ from the chunk. */
export const BAD_CHUNK_SIZES: readonly string[] = [
  ...["-1", "0x5", "zz", "f".repeat(17), "", " ", `${SIZE};a\nb`, "5"],
];
