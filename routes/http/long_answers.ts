/**
 * Sends long responses in parts, and counts them until the client has read them. The runtime would keep
 * a body that it gets in one piece until then, for an unknown time.
 */
import type { Principal } from "../../domain/teams/credentials.ts";
import { fail } from "./answer.ts";
import type { RequestContext } from "./context.ts";
import type { BytesInFlight } from "./bytes_in_flight.ts";
import { OVERLOADED } from "./admission.ts";
import { nextTurn } from "./in_turns.ts";
import { PacedStreams } from "./paced_streams.ts";

/** Maximum bytes of a response sent in one piece: they fit the socket's buffer. */
const WHOLE_BYTES_MAX = 16_384;

/** Bytes of one part. */
const PART_BYTES = 65_536;

/** Long responses in flight. */
export class LongAnswers {
  readonly #answers: BytesInFlight;
  readonly #streams = new PacedStreams();

  /** Creates the sender; `answers` counts the bytes in flight. */
  constructor(answers: BytesInFlight) {
    this.#answers = answers;
  }

  /** Sends a long response in parts; answers 503 when too many bytes are in flight. */
  async send(c: RequestContext, response: Response): Promise<Response> {
    const { status, headers } = response;
    await nextTurn();
    const bytes = await response.bytes();
    // HEAD sends no body.
    if (bytes.length <= WHOLE_BYTES_MAX || c.req.method === "HEAD") {
      return new Response(bytes, { status, headers });
    }
    const principal: Principal | undefined = c.get("principal");
    const team = principal?.team.id ?? "";
    const flight = this.#answers.begin(team, () => stream.end("Another team needs the memory"));
    if (!flight.take(bytes.length)) return fail(c, OVERLOADED);
    const stream = this.#streams.begin(partsOf(bytes), () => flight[Symbol.dispose]());
    headers.set("Content-Length", String(bytes.length));
    return new Response(stream.body, { status, headers });
  }
}

async function* partsOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    yield bytes.subarray(at, at + PART_BYTES);
  }
}
