/** Sends shots over several connections, reads every answer, and says which promise was broken. */
import { ERRORS } from "../../../domain/core/errors.ts";
import { DASHBOARD_PATH, SIGN_IN } from "../../../routes/dashboard/layout/paths.ts";
import type { Random } from "../../../tools/random.ts";
import { type RawAnswer, RawSocket } from "../../support/harness/raw_socket.ts";
import { joined, type Shot, showShot } from "./shot.ts";
import type { Watch } from "./watch.ts";

/** Connections at once, and requests one of them may send before it reads. */
const LANES = 8, PIPELINED_MAX = 16;

/** Nobody waits longer for an answer, or for a connection to be closed. */
export const ANSWER_MS_MAX = 1_000;

/** How long the first answer is waited for before the connection is ended. */
const PATIENCE_MS = 30;

/** A repricing is waited for, for so long (`docs/API.md`). */
const PATIENT_MS_MAX = 3_000;

/** Broken promises that are told one by one. */
const BROKEN_MAX = 20;

/** What all that was sent came to. */
export class Tally {
  readonly #watch: Watch;
  requests = 0;
  worstMs = 0;
  brokenCount = 0;
  /** The first broken promises, with what broke them. */
  readonly broken: string[] = [];
  /** Answers by kind of shot, then by status; `closed` where there was none. */
  readonly statuses = new Map<string, Map<string, number>>();

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Judges how long an answer took, or the end of a connection. */
  time(shot: Shot, startMs: number): void {
    const ms = performance.now() - startMs;
    if (!shot.patient) this.worstMs = Math.max(this.worstMs, ms);
    const max = shot.patient ? PATIENT_MS_MAX : ANSWER_MS_MAX;
    if (ms > max && ms - this.#watch.keptWaitingMs(startMs) > max) {
      this.blame(`${Math.round(ms)} ms`, shot);
    }
  }

  /** Counts an answer. */
  count({ kind }: Shot, status: string): void {
    this.requests++;
    const ofKind = this.statuses.get(kind) ?? new Map<string, number>();
    this.statuses.set(kind, ofKind.set(status, (ofKind.get(status) ?? 0) + 1));
  }

  /** Takes down a broken promise. */
  blame(what: string, shot?: Shot): void {
    this.brokenCount++;
    if (this.broken.length >= BROKEN_MAX) return;
    this.broken.push(shot === undefined ? what : `${what}: ${showShot(shot)}`);
  }
}

/** Shots that share a connection, in order. */
type Volley = readonly [Shot, ...Shot[]];

/** Groups shots: those of HTTP follow each other, unless the others would wait for one of them. */
function volleysOf(shots: readonly Shot[], random: Random): Volley[] {
  const volleys: Volley[] = [];
  let open: [Shot, ...Shot[]] | null = null;
  let room = 0;
  for (const shot of shots) {
    if (shot.ending !== "keep" || shot.patient) volleys.push([shot]);
    else if (open !== null && room-- > 0) open.push(shot);
    else {
      volleys.push(open = [shot]);
      room = random.int(0, PIPELINED_MAX - 1);
    }
  }
  return volleys;
}

/** Sends all shots; answers those that were refused, which can have stored nothing. */
export async function fire(
  url: string,
  shots: readonly Shot[],
  random: Random,
  tally: Tally,
): Promise<Shot[]> {
  const volleys = volleysOf(shots, random);
  const refused: Shot[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: LANES }, async () => {
    using lane = new Lane(url, tally, refused);
    for (let volley = volleys[next++]; volley !== undefined; volley = volleys[next++]) {
      await lane.send(volley);
    }
  }));
  return refused;
}

/** One client: a connection that is opened anew whenever the last one was closed. */
class Lane implements Disposable {
  #socket: RawSocket | null = null;

  constructor(readonly url: string, readonly tally: Tally, readonly refused: Shot[]) {}

  [Symbol.dispose](): void {
    this.#socket?.[Symbol.dispose]();
    this.#socket = null;
  }

  async send(volley: Volley): Promise<void> {
    const [first] = volley;
    try {
      if (first.ending !== "keep") return await this.#alone(first);
      for (let rest: readonly Shot[] = volley; rest.length > 0;) rest = await this.#pipeline(rest);
    } catch (error) {
      this.tally.blame(error instanceof Error ? error.message : String(error), first);
      this[Symbol.dispose]();
    }
  }

  /** Sends requests one behind the other; answers those that were not heard. */
  async #pipeline(shots: readonly Shot[]): Promise<readonly Shot[]> {
    const isFresh = this.#socket === null;
    const socket = this.#socket ??= await RawSocket.open(this.url);
    const startMs = performance.now();
    // Answers are read meanwhile: neither side can wait for the other to empty its buffers.
    const sent = socket.send(joined(shots.map(({ bytes }) => bytes))).catch(() => {});
    for (const [place, shot] of shots.entries()) {
      const answer = await finalAnswer(socket, shot).catch(closedByReset);
      // One that is closed between two requests is no refusal: they are sent again on another.
      const isHeard = answer !== null || (place === 0 && isFresh);
      if (answer !== null) this.#judge(shot, answer, startMs);
      else if (isHeard) this.#closedAtOnce(shot);
      if (answer !== null && isRefusal(answer)) this.refused.push(shot);
      if (answer !== null && answer.headers.get("connection") !== "close") continue;
      // A body that is refused unread takes its connection with it, and what was sent behind it.
      this[Symbol.dispose]();
      await sent;
      return shots.slice(isHeard ? place + 1 : place);
    }
    await sent;
    return [];
  }

  /** Sends what may be no request at all on a connection of its own, and waits for its end. */
  async #alone(shot: Shot): Promise<void> {
    using socket = await RawSocket.open(this.url);
    const sent = socket.send(shot.bytes).catch(() => {});
    if (shot.ending === "vanish") await sent;
    const statuses = shot.ending === "vanish" ? [] : await this.#hearAll(socket, shot, sent);
    // Of what got no answer nobody knows what became, unless it can only have been refused.
    const isRefused = statuses.length > 0 && statuses.every((status) => status >= 400);
    if (shot.mustRefuse || isRefused) this.refused.push(shot);
  }

  /** Reads all answers there are, until the connection is closed; answers their statuses. */
  async #hearAll(socket: RawSocket, shot: Shot, sent: Promise<void>): Promise<number[]> {
    const statuses: number[] = [];
    let startMs = performance.now();
    let ended = false;
    const end = sent.then(async () => {
      // The runtime may drop a whole request when its client ends the connection before the answer.
      if (shot.ending === "finish") {
        await Promise.race([answer.catch(() => {}), sleep(PATIENCE_MS)]);
      }
      startMs = performance.now();
      ended = true;
      await socket.endSending().catch(() => {});
    });
    let answer = finalAnswer(socket, shot).catch(closedByReset);
    for (let heard = await answer; heard !== null; heard = await answer) {
      this.#judge(shot, heard, startMs);
      // A refusal after the end may be one for ending.
      statuses.push(ended && !shot.mustRefuse ? NaN : heard.status);
      answer = finalAnswer(socket, shot).catch(closedByReset);
    }
    if (statuses.length === 0) this.tally.count(shot, "closed");
    this.tally.time(shot, startMs);
    await end;
    return statuses;
  }

  #closedAtOnce(shot: Shot): void {
    this.tally.count(shot, "closed");
    this.tally.blame("Closed without an answer", shot);
  }

  #judge(shot: Shot, answer: RawAnswer, startMs: number): void {
    const { status } = answer;
    this.tally.count(shot, String(status));
    this.tally.time(shot, startMs);
    if (!(status >= 200 && status < 500)) this.tally.blame(`Status ${status}`, shot);
    if (shot.mustRefuse && !isRefusal(answer)) this.tally.blame(`Taken with ${status}`, shot);
    const problem = status >= 400 ? problemOf(shot, answer) : null;
    if (problem !== null) this.tally.blame(problem, shot);
  }
}

/**
 * Whether an answer says that nothing was done. Who is not signed in is sent to where one signs in, and a
 * target that comes to no path at all is the start page's, which leads to the dashboard.
 */
function isRefusal({ status, headers }: RawAnswer): boolean {
  const leads = headers.get("location") ?? "";
  return status >= 400 ||
    (status === 303 && (leads === DASHBOARD_PATH || leads.startsWith(`${SIGN_IN}?next=`)));
}

/** The answer behind any that only say "go on". */
async function finalAnswer(socket: RawSocket, shot: Shot): Promise<RawAnswer | null> {
  for (;;) {
    const answer = await socket.answer(shot.isHead);
    if (answer === null || answer.status >= 200 || Number.isNaN(answer.status)) return answer;
  }
}

/** What is wrong with the form of a refusal; null when nothing is. */
function problemOf(shot: Shot, { status, headers, body }: RawAnswer): string | null {
  // A part of a page that may not be seen any more has the whole loaded anew.
  if (shot.isHead || headers.get("hx-refresh") === "true") return null;
  // What is no HTTP is refused by the runtime, which says nothing more.
  if (body === "") return shot.ending === "keep" ? `Status ${status} without a body` : null;
  const isPage = headers.get("content-type")?.startsWith("text/html");
  if (isPage && shot.kind === "pages") {
    return body.trimEnd().endsWith("</html>") ? null : "Half a page";
  }
  const isJson = headers.get("content-type") === "application/json";
  const code = isJson ? JSON.parse(body).error : body.split(" ", 1)[0];
  const known = Object.entries(ERRORS).find(([name]) => name === code)?.[1];
  if (known?.status !== status) return `Status ${status} with the code ${code}`;
  return body.indexOf("\n") === body.length - 1 ? null : `Not one line: ${JSON.stringify(body)}`;
}

/** A server that has refused a request may close before it has read all of it. */
function closedByReset(error: unknown): null {
  const isReset = error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.BrokenPipe;
  if (isReset) return null;
  throw error;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
