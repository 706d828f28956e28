/** Frames between a test and the process of its KV engine: calls in one direction, answers back. */

/** Meaning of a frame: a call of the engine, or an answer. */
export const KINDS = ["open", "snapshotRead", "atomicWrite", "done", "failed"] as const;

/** One call or answer. */
export interface Frame {
  readonly kind: typeof KINDS[number];
  /** Number of the call; the answer has the same. */
  readonly call: number;
  /** Number of a database. */
  readonly db?: number;
  readonly body?: Uint8Array;
}

/** Bytes of the numbers before a body: its length, then kind, call and database. */
const HEADER_BYTES = 16;

/** Maximum bytes of one read. */
const READ_BYTES = 65_536;

/** Encodes a frame. */
function encodeFrame({ kind, call, db = 0, body }: Frame): Uint8Array {
  const length = body?.length ?? 0;
  const bytes = new Uint8Array(HEADER_BYTES + length);
  const view = new DataView(bytes.buffer);
  [length, KINDS.indexOf(kind), call, db].forEach((n, i) => view.setUint32(i * 4, n));
  if (body !== undefined) bytes.set(body, HEADER_BYTES);
  return bytes;
}

/** Sends frames over a connection, in order. */
export class FrameSender {
  readonly #connection: Deno.Conn;
  /** Resolves when all frames so far are sent, or cannot be because the other process has ended. */
  sent: Promise<void> = Promise.resolve();

  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  send(frame: Frame): void {
    // Who waits for an answer sees the end when it reads.
    this.sent = this.sent.then(() => this.#write(encodeFrame(frame))).catch(() => {});
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }
}

/** Reads frames until the connection ends; a part of a frame at its end is dropped. */
export async function* readFrames(connection: Deno.Conn): AsyncGenerator<Frame> {
  const part = new Uint8Array(READ_BYTES);
  let bytes = new Uint8Array();
  while (true) {
    const count = await readPart(connection, part);
    if (count === null) return;
    const joined = new Uint8Array(bytes.length + count);
    joined.set(bytes);
    joined.set(part.subarray(0, count), bytes.length);
    let at = 0;
    for (let end = endOf(joined, at); end !== null; end = endOf(joined, at)) {
      yield decodeFrame(joined.subarray(at, end));
      at = end;
    }
    bytes = joined.subarray(at);
  }
}

/** Returns the number of bytes read; null at the end, also if the other process was killed. */
async function readPart(connection: Deno.Conn, part: Uint8Array): Promise<number | null> {
  try {
    return await connection.read(part);
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionReset) return null;
    throw error;
  }
}

/** Returns the end of the frame at a position; null if it is not complete. */
function endOf(bytes: Uint8Array, at: number): number | null {
  if (bytes.length < at + HEADER_BYTES) return null;
  const end = at + HEADER_BYTES + new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0);
  return end <= bytes.length ? end : null;
}

function decodeFrame(bytes: Uint8Array): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const kind = KINDS[view.getUint32(4)];
  if (kind === undefined) throw new Error("The frame has an unknown kind.");
  return {
    kind,
    call: view.getUint32(8),
    db: view.getUint32(12),
    body: bytes.subarray(HEADER_BYTES),
  };
}
