/**
 * Responses to `HEAD`. Hono removes the body before the runtime can measure it, and the runtime then
 * sends Content-Length 0. Given the body, the runtime sends its length, and leaves out the body itself.
 */
import type { RequestContext } from "./context.ts";

/** Original responses of handlers to `HEAD` requests. */
export class HeadAnswers {
  readonly #answers = new WeakMap<Request, Response>();

  /** Keeps the response if the request is a `HEAD`. */
  keep(c: RequestContext, response: Response): void {
    if (c.req.method === "HEAD") this.#answers.set(c.req.raw, response);
  }

  /** Replaces Hono's bodiless response with the original one. */
  async replace(request: Request, bodiless: Response | Promise<Response>): Promise<Response> {
    const response = await bodiless;
    return this.#answers.get(request) ?? response;
  }
}

/** Returns an empty stream as body for HEAD, where the length of the real stream is unknown. */
export function emptyStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
