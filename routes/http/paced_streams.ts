/**
 * Answers that are sent in parts: a part is made when the client has taken the one before. None goes on
 * when its client is gone or takes nothing.
 */

/** Milliseconds a client may take for one part before its stream is broken off. */
const STANDSTILL_MS_MAX = 30_000;

/** Milliseconds between two looks at all streams. */
const LOOK_MS = 500;

/** Ends an answer early on purpose: the server does not report it. */
export class BrokenOff extends Error {}

/** One answer under way. */
export interface PacedStream {
  /** The body of the answer. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Breaks it off, so that the client sees no proper end. */
  readonly end: (why: string) => void;
}

/** A stream, and since when its client has something to take; null while a part is made. */
interface Watched {
  idleSinceMs: number | null;
  readonly end: (why: string) => void;
}

/** Streams that are watched together. */
export class PacedStreams {
  readonly #draining: () => boolean;
  readonly #streams = new Set<Watched>();
  #looks: ReturnType<typeof setInterval> | undefined;

  /** Creates none. While `draining` says so, all are broken off. */
  constructor(draining: () => boolean = () => false) {
    this.#draining = draining;
  }

  /**
   * Begins a stream. When its parts fail it breaks off.
   *
   * @param ended is called once, when it is over for whatever reason
   * @param failed is called before that when the parts throw anything but {@link BrokenOff}
   */
  begin(
    parts: AsyncIterator<Uint8Array>,
    ended: () => void,
    failed: (error: unknown) => void = () => {},
  ): PacedStream {
    let controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
    const stream: Watched = {
      idleSinceMs: performance.now(),
      end: (why) => {
        if (leave()) controller.error(new BrokenOff(why));
        void parts.return?.();
      },
    };
    const leave = () => {
      if (!this.#leave(stream)) return false;
      ended();
      return true;
    };
    this.#enter(stream);
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (begun) => void (controller = begun),
      pull: async () => {
        stream.idleSinceMs = null;
        try {
          const part = await nextPart(parts, () => this.#streams.has(stream));
          stream.idleSinceMs = performance.now();
          if (!this.#streams.has(stream)) return;
          if (part !== null) return controller.enqueue(part);
          leave();
          controller.close();
        } catch (error) {
          // One that was ended before fails because of that.
          if (!this.#streams.has(stream)) return;
          if (!(error instanceof BrokenOff)) failed(error);
          leave();
          controller.error(new BrokenOff("It failed"));
        }
      },
      cancel: () => {
        leave();
        // It may be making a part, and ends after that.
        void parts.return?.();
      },
      // Nothing is made ahead of what the client asks for.
    }, { highWaterMark: 0 });
    return { body, end: stream.end };
  }

  #enter(stream: Watched): void {
    this.#streams.add(stream);
    this.#looks ??= setInterval(() => this.#look(), LOOK_MS);
  }

  #leave(stream: Watched): boolean {
    const wasThere = this.#streams.delete(stream);
    if (this.#streams.size === 0) {
      clearInterval(this.#looks);
      this.#looks = undefined;
    }
    return wasThere;
  }

  #look(): void {
    const nowMs = performance.now();
    const draining = this.#draining();
    for (const { idleSinceMs, end } of this.#streams) {
      if (draining) end("The instance is shutting down");
      else if (nowMs - (idleSinceMs ?? nowMs) > STANDSTILL_MS_MAX) {
        end("The client took nothing for too long");
      }
    }
  }
}

/** Returns the next part that is not empty; null at the end, or when it is no longer wanted. */
async function nextPart(
  parts: AsyncIterator<Uint8Array>,
  isWanted: () => boolean,
): Promise<Uint8Array<ArrayBuffer> | null> {
  while (isWanted()) {
    const part = await parts.next();
    if (part.done === true) return null;
    if (part.value.length > 0) return part.value as Uint8Array<ArrayBuffer>;
  }
  return null;
}
