/** Sends shots over several connections, reads every response, and reports broken promises. */
import { ERRORS } from "../../../domain/core/errors.ts";
import { DASHBOARD_PATH, SIGN_IN } from "../../../routes/dashboard/layout/paths.ts";
import type { Random } from "../../../tools/random.ts";
import { type RawAnswer, RawSocket } from "../../support/harness/raw_socket.ts";
import { joined, type Shot, showShot } from "./shot.ts";
import type { Watch } from "./watch.ts";

/** Parallel connections, and requests that one of them may send before it reads. */
const LANES = 8, PIPELINED_MAX = 16;

/** Maximum milliseconds for a response, or for the close of a connection. */
const ANSWER_MS_MAX = 1_000;

/** Milliseconds to wait for the first response before ending the connection. */
const PATIENCE_MS = 30;

/** Maximum milliseconds of a call that waits for a repricing (its description in `/docs`). */
const PATIENT_MS_MAX = 3_000;

/** Maximum broken promises to report in full. */
const BROKEN_MAX = 20;

/** Totals of everything that was sent. */
export class ResponseCounts {
  readonly #watch: Watch;
  requests = 0;
  worstMs = 0;
  brokenCount = 0;
  readonly broken: string[] = [];
  /** Responses by kind of shot, then by status; `closed` if there was none. */
  readonly statuses = new Map<string, Map<string, number>>();

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Judges the duration of a response, or of the end of a connection. */
  time(shot: Shot, startMs: number): void {
    const ms = performance.now() - startMs;
    if (!shot.patient) this.worstMs = Math.max(this.worstMs, ms);
    const max = shot.patient ? PATIENT_MS_MAX : ANSWER_MS_MAX;
    if (ms > max && ms - this.#watch.keptWaitingMs(startMs) > max) {
      this.blame(`${Math.round(ms)} ms`, shot);
    }
  }

  count({ kind }: Shot, status: string): void {
    this.requests++;
    const ofKind = this.statuses.get(kind) ?? new Map<string, number>();
    this.statuses.set(kind, ofKind.set(status, (ofKind.get(status) ?? 0) + 1));
  }

  blame(what: string, shot?: Shot): void {
    this.brokenCount++;
    if (this.broken.length >= BROKEN_MAX) return;
    this.broken.push(shot === undefined ? what : `${what}: ${showShot(shot)}`);
  }
}

/** Shots that share a connection, in order. */
type Volley = readonly [Shot, ...Shot[]];

/** Groups shots for pipelining, except shots that would delay others. */
function volleysOf(shots: readonly Shot[], random: Random): Volley[] {
  const volleys: Volley[] = [];
  let open: [Shot, ...Shot[]] | null = null;
  let remaining = 0;
  for (const shot of shots) {
    if (shot.ending !== "keep" || shot.patient) volleys.push([shot]);
    else if (open !== null && remaining-- > 0) open.push(shot);
    else {
      volleys.push(open = [shot]);
      remaining = random.int(0, PIPELINED_MAX - 1);
    }
  }
  return volleys;
}

/** Sends all shots; returns the refused ones, which cannot have stored anything. */
export async function fire(
  url: string,
  shots: readonly Shot[],
  random: Random,
  counts: ResponseCounts,
): Promise<Shot[]> {
  const volleys = volleysOf(shots, random);
  const refused: Shot[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: LANES }, async () => {
    using lane = new Lane(url, counts, refused);
    for (let volley = volleys[next++]; volley !== undefined; volley = volleys[next++]) {
      await lane.send(volley);
    }
  }));
  return refused;
}

/** One client, which opens a new connection whenever the last one was closed. */
class Lane implements Disposable {
  #socket: RawSocket | null = null;

  constructor(readonly url: string, readonly counts: ResponseCounts, readonly refused: Shot[]) {}

  [Symbol.dispose](): void {
    this.#socket?.[Symbol.dispose]();
    this.#socket = null;
  }

  async send(volley: Volley): Promise<void> {
    const [first] = volley;
    try {
      if (first.ending !== "keep") return await this.#alone(first);
      for (let remaining: readonly Shot[] = volley; remaining.length > 0;) {
        remaining = await this.#pipeline(remaining);
      }
    } catch (error) {
      this.counts.blame(error instanceof Error ? error.message : String(error), first);
      this[Symbol.dispose]();
    }
  }

  /** Pipelines requests; returns those without a response. */
  async #pipeline(shots: readonly Shot[]): Promise<readonly Shot[]> {
    const isFresh = this.#socket === null;
    const socket = this.#socket ??= await RawSocket.open(this.url);
    const startMs = performance.now();
    // Responses are read meanwhile, so that neither side waits for the other to empty its buffers.
    const sent = socket.send(joined(shots.map(({ bytes }) => bytes))).catch(() => {});
    for (const [index, shot] of shots.entries()) {
      const answer = await finalAnswer(socket, shot).catch(closedByReset);
      // A connection closed between two requests refuses nothing: they are resent on another one.
      const isAnswered = answer !== null || (index === 0 && isFresh);
      if (answer !== null) this.#judge(shot, answer, startMs);
      else if (isAnswered) this.#closedAtOnce(shot);
      if (answer !== null && isRefusal(answer)) this.refused.push(shot);
      if (answer !== null && answer.headers.get("connection") !== "close") continue;
      // A refusal of an unread body ends the connection, and drops the requests after it.
      this[Symbol.dispose]();
      await sent;
      return shots.slice(isAnswered ? index + 1 : index);
    }
    await sent;
    return [];
  }

  /** Sends possibly malformed bytes on a separate connection, and waits for its end. */
  async #alone(shot: Shot): Promise<void> {
    using socket = await RawSocket.open(this.url);
    const sent = socket.send(shot.bytes).catch(() => {});
    if (shot.ending === "vanish") await sent;
    const statuses = shot.ending === "vanish" ? [] : await this.#readAll(socket, shot, sent);
    // Without a response the outcome is unknown, unless the request can only have been refused.
    const isRefused = statuses.length > 0 && statuses.every((status) => status >= 400);
    if (shot.mustRefuse || isRefused) this.refused.push(shot);
  }

  /** Reads all responses until the connection closes; returns their statuses. */
  async #readAll(socket: RawSocket, shot: Shot, sent: Promise<void>): Promise<number[]> {
    const statuses: number[] = [];
    let startMs = performance.now();
    let ended = false;
    const end = sent.then(async () => {
      // The runtime may drop a complete request if its client closes the connection before the
      // response.
      if (shot.ending === "finish") {
        await Promise.race([next.catch(() => {}), sleep(PATIENCE_MS)]);
      }
      startMs = performance.now();
      ended = true;
      await socket.endSending().catch(() => {});
    });
    let next = finalAnswer(socket, shot).catch(closedByReset);
    for (let answer = await next; answer !== null; answer = await next) {
      this.#judge(shot, answer, startMs);
      // A refusal after the client's end may be a reaction to that end.
      statuses.push(ended && !shot.mustRefuse ? NaN : answer.status);
      next = finalAnswer(socket, shot).catch(closedByReset);
    }
    if (statuses.length === 0) this.counts.count(shot, "closed");
    this.counts.time(shot, startMs);
    await end;
    return statuses;
  }

  #closedAtOnce(shot: Shot): void {
    this.counts.count(shot, "closed");
    this.counts.blame("Closed without an answer", shot);
  }

  #judge(shot: Shot, answer: RawAnswer, startMs: number): void {
    const { status } = answer;
    this.counts.count(shot, String(status));
    this.counts.time(shot, startMs);
    if (!(status >= 200 && status < 500)) this.counts.blame(`Status ${status}`, shot);
    if (shot.mustRefuse && !isRefusal(answer)) this.counts.blame(`Taken with ${status}`, shot);
    const problem = status >= 400 ? problemOf(shot, answer) : null;
    if (problem !== null) this.counts.blame(problem, shot);
  }
}

/**
 * Returns true if a response shows that nothing was done. Requests without a session are redirected
 * to the sign-in page, and an empty target is the start page's, which redirects to the dashboard.
 */
function isRefusal({ status, headers }: RawAnswer): boolean {
  const leads = headers.get("location") ?? "";
  return status >= 400 ||
    (status === 303 && (leads === DASHBOARD_PATH || leads.startsWith(`${SIGN_IN}?next=`)));
}

/** Returns the response after any interim ones (1xx). */
async function finalAnswer(socket: RawSocket, shot: Shot): Promise<RawAnswer | null> {
  for (;;) {
    const answer = await socket.answer(shot.isHead);
    if (answer === null || answer.status >= 200 || Number.isNaN(answer.status)) return answer;
  }
}

function problemOf(shot: Shot, { status, headers, body }: RawAnswer): string | null {
  // A page fragment that may no longer be read makes the browser reload the page.
  if (shot.isHead || headers.get("hx-refresh") === "true") return null;
  // The runtime refuses malformed HTTP with an empty body.
  if (body === "") return shot.ending === "keep" ? `Status ${status} without a body` : null;
  const isPage = headers.get("content-type")?.startsWith("text/html");
  if (isPage && shot.kind === "pages") {
    return body.trimEnd().endsWith("</html>") ? null : "Half a page";
  }
  const isJson = headers.get("content-type") === "application/json";
  const code = isJson ? JSON.parse(body).error : body.split(" ", 1)[0];
  const expected = Object.entries(ERRORS).find(([name]) => name === code)?.[1];
  if (expected?.status !== status) return `Status ${status} with the code ${code}`;
  return body.indexOf("\n") === body.length - 1 ? null : `Not one line: ${JSON.stringify(body)}`;
}

/** A server that refuses a request may close the connection before it has read the body. */
function closedByReset(error: unknown): null {
  const isReset = error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.BrokenPipe;
  if (isReset) return null;
  throw error;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
