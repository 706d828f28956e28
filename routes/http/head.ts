/**
 * Answers to `HEAD`. Hono takes the body off before the runtime could measure it, and the runtime then
 * announces 0 bytes. Handed over with its body, an answer is announced as long as it is and sent without.
 */
import type { RequestContext } from "./context.ts";

/** Answers to `HEAD` as their handlers made them. */
export class HeadAnswers {
  readonly #answers = new WeakMap<Request, Response>();

  /** Keeps an answer if it is one to `HEAD`. */
  keep(c: RequestContext, response: Response): void {
    if (c.req.method === "HEAD") this.#answers.set(c.req.raw, response);
  }

  /** Replaces what Hono makes of an answer by the answer itself. */
  async replace(request: Request, bodiless: Response | Promise<Response>): Promise<Response> {
    const response = await bodiless;
    return this.#answers.get(request) ?? response;
  }
}

/** Returns the body of a stream for HEAD: the length of the real one is not known. */
export function emptyStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
