/**
 * Long answers: sent in parts, and counted until the client has taken them. What the runtime is handed as
 * a whole it keeps until then, for an unknown time.
 */
import type { Principal } from "../../domain/teams/credentials.ts";
import { fail } from "./answer.ts";
import type { RequestContext } from "./context.ts";
import type { BytesInFlight } from "./bytes_in_flight.ts";
import { OVERLOADED } from "./admission.ts";
import { nextTurn } from "./in_turns.ts";
import { PacedStreams } from "./paced_streams.ts";

/** Bytes up to which an answer leaves as a whole: a socket's own buffer takes them. */
const WHOLE_BYTES_MAX = 16_384;

/** Bytes of one part. */
const PART_BYTES = 65_536;

/** The long answers of an application that are on their way. */
export class LongAnswers {
  readonly #answers: BytesInFlight;
  readonly #streams = new PacedStreams();

  /** Creates none, and counts those to come. */
  constructor(answers: BytesInFlight) {
    this.#answers = answers;
  }

  /** Sends an answer in parts if it is long; refuses it when too much is on its way already. */
  async send(c: RequestContext, response: Response): Promise<Response> {
    const { status, headers } = response;
    await nextTurn();
    const bytes = await response.bytes();
    // HEAD takes nothing.
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
