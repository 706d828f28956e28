/**
 * Answers that are made while they are sent: a part is made when the client has taken the one before.
 *
 * There are so many at once and of a team; none goes on when its client is gone, stands still, or the
 * process is shutting down.
 */
import type { TeamId } from "../domain/credentials.ts";

/** Streams at once, in all and of one team. */
const STREAMS_MAX = { all: 32, team: 4 } as const;

/** Milliseconds a client may take for one part before its stream is broken off. */
const STANDSTILL_MS_MAX = 60_000;

/** Milliseconds between two looks at all streams. */
const LOOK_MS = 500;

/** One answer under way. */
interface Stream {
  readonly team: TeamId;
  /** Since when its client has something to take; null while a part is made. */
  idleSinceMs: number | null;
  /** Breaks it off. */
  readonly end: (why: string) => void;
}

/** What streams are made from. */
export interface PacedStreamsDeps {
  /** Whether the process is shutting down. */
  readonly draining: () => boolean;
  /** Is told when an answer could not be made to its end, by the id of its request. */
  readonly failed: (requestId: string, error: unknown) => void;
}

/** The streams of an application. */
export class PacedStreams {
  readonly #deps: PacedStreamsDeps;
  readonly #streams = new Set<Stream>();
  #looks: ReturnType<typeof setInterval> | undefined;

  constructor(deps: PacedStreamsDeps) {
    this.#deps = deps;
  }

  /**
   * Begins a stream, or answers null when there are too many. When its parts fail it breaks off, so that
   * the client sees no proper end.
   */
  begin(
    team: TeamId,
    requestId: string,
    parts: AsyncIterator<string>,
  ): ReadableStream<Uint8Array> | null {
    const own = Array.from(this.#streams).filter((stream) => stream.team === team).length;
    if (own >= STREAMS_MAX.team || this.#streams.size >= STREAMS_MAX.all) return null;
    const encoder = new TextEncoder();
    let stream: Stream;
    // Nothing is made ahead of what the client asks for.
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        stream = {
          team,
          idleSinceMs: performance.now(),
          end: (why) => {
            this.#leave(stream);
            controller.error(new Error(why));
            void parts.return?.();
          },
        };
        this.#enter(stream);
      },
      pull: async (controller) => {
        stream.idleSinceMs = null;
        try {
          const part = await nextText(parts, () => this.#streams.has(stream));
          stream.idleSinceMs = performance.now();
          if (!this.#streams.has(stream)) return;
          if (part !== null) return controller.enqueue(encoder.encode(part));
          this.#leave(stream);
          controller.close();
        } catch (error) {
          // One that was ended before fails because of that.
          if (this.#streams.has(stream)) this.#deps.failed(requestId, error);
          this.#leave(stream);
          controller.error(error);
        }
      },
      cancel: async () => {
        this.#leave(stream);
        await parts.return?.();
      },
    }, { highWaterMark: 0 });
  }

  #enter(stream: Stream): void {
    this.#streams.add(stream);
    this.#looks ??= setInterval(() => this.#look(), LOOK_MS);
  }

  #leave(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }

  #look(): void {
    const draining = this.#deps.draining();
    const nowMs = performance.now();
    for (const stream of this.#streams) {
      if (draining) stream.end("The instance is shutting down");
      else if (nowMs - (stream.idleSinceMs ?? nowMs) > STANDSTILL_MS_MAX) {
        stream.end("The client took nothing for too long");
      }
    }
  }
}

/** The next part that is not empty; null at the end, or when nobody wants it any more. */
async function nextText(
  parts: AsyncIterator<string>,
  isWanted: () => boolean,
): Promise<string | null> {
  while (isWanted()) {
    const part = await parts.next();
    if (part.done === true) return null;
    if (part.value !== "") return part.value;
  }
  return null;
}
