/**
 * `GET /v1/runs.ndjson` and `GET /v1/runs.csv`: all runs that a query asks for. A page of them is read
 * when the client has taken the one before, so an export of any length holds one page.
 */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { RunListPage, RunPosition } from "../../../domain/runs/list.ts";
import { parseRunsQuery } from "../../../domain/runs/list_query.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answerStream, fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { EXPORT_FORMS, type ExportForm, type ExportFormat } from "./formats.ts";
import { isStillLive } from "../../http/credential.ts";
import { emptyStream } from "../../http/head.ts";
import { paced } from "../../http/rate.ts";
import { type ConcurrencyLimit, OVERLOADED } from "../../http/admission.ts";
import { BrokenOff, PacedStreams } from "../../http/paced_streams.ts";
import { logFailure } from "../../http/dispatch.ts";
import { queryOf } from "../../http/query.ts";
import { parseRunsCursor } from "../runs/run_list.ts";

/** Runs that are read at once. */
const RUNS_PER_PART = 100;

/** Bytes that an export is counted with among answers: a part of runs with many labels. */
const PART_BYTES = 262_144;

/** Exports at once, in all and of one team. */
const EXPORTS_MAX = { all: 32, team: 4 } as const;

/** Makes a function that says whether whoever asked may still have the rest. */
type MayGoOn = (deps: AppDeps, c: RequestContext) => () => Promise<boolean>;

/** Makes the handler of a form, for requests with a key or those of a session. */
export type Exports = (format: ExportFormat, mayGoOn?: MayGoOn) => Handle;

/** Makes the handlers of all forms; together they are bounded. */
export function createExports(deps: AppDeps, room: ConcurrencyLimit): Exports {
  const places = new Places();
  const streams = new PacedStreams(() => deps.draining());

  /** Begins to send parts; null when too many exports are sent already. */
  function begin(
    c: RequestContext,
    parts: (signal: AbortSignal) => AsyncIterator<Uint8Array>,
  ): ReadableStream<Uint8Array> | null {
    const { id } = c.get("principal").team;
    if (!places.take(id)) return null;
    const gone = new AbortController();
    const flight = room.answers.begin(id, () => stream.end("Another team needs the room"));
    const ended = () => {
      gone.abort(new BrokenOff("The export is over"));
      places.give(id);
      flight[Symbol.dispose]();
    };
    if (!flight.take(PART_BYTES)) {
      ended();
      return null;
    }
    const failed = (error: unknown) => logFailure(deps, c.get("requestId"), error);
    const stream = streams.begin(parts(gone.signal), ended, failed);
    return stream.body;
  }

  return (format, mayGoOn = isStillLive) => {
    const form = EXPORT_FORMS[format];
    return (c) => {
      const nowMs = deps.environment.now();
      const request = parseRunsQuery(queryOf(c), nowMs, parseRunsCursor);
      if (!request.ok) return fail(c, request.problem);
      const { team } = c.get("principal");
      const { query, isWindowDefault, after } = request.value;
      // A list looks at one day where it would have to look at everything; an export has the time.
      const asked = isWindowDefault ? { ...query, from: null } : query;
      const works = mayGoOn(deps, c);
      /** What an export waits for before each page: its rows are read only for who may have them. */
      const beforePage = async () => {
        if (!await works()) throw new BrokenOff("The credential does not work any more");
      };
      const readPaced = paced(deps, c);
      const read = (signal: AbortSignal, from: RunPosition | null) =>
        readPaced(signal, () => deps.runList.page(team, asked, from, RUNS_PER_PART));
      // HEAD takes nothing, so nothing is begun for it.
      const body = c.req.method === "HEAD"
        ? emptyStream()
        : begin(c, (signal) => partsOf(form, after, beforePage, (from) => read(signal, from)));
      if (body === null) return fail(c, OVERLOADED);
      const name = `runs-${formatInstant(nowMs).slice(0, 10)}.${format}`;
      return answerStream(c, body, form.type, {
        "Content-Disposition": `attachment; filename="${name}"`,
        "Cache-Control": "no-store",
      });
    };
  };
}

/** The text of an export in parts; some are empty, where much is passed by. */
async function* partsOf(
  form: ExportForm,
  after: RunPosition | null,
  beforePage: () => Promise<void>,
  read: (from: RunPosition | null) => Promise<RunListPage>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(form.head);
  let runs = 0;
  let from: RunPosition | null | "end" = after;
  while (from !== "end") {
    await beforePage();
    const page = await read(from);
    runs += page.rows.length;
    yield encoder.encode(page.rows.map(form.line).join(""));
    from = page.next ?? "end";
  }
  yield encoder.encode(form.tail(runs));
}

/** Places of exports under way. */
class Places {
  readonly #ofTeam = new Map<TeamId, number>();
  #all = 0;

  take(team: TeamId): boolean {
    const own = this.#ofTeam.get(team) ?? 0;
    if (this.#all >= EXPORTS_MAX.all || own >= EXPORTS_MAX.team) return false;
    this.#all++;
    this.#ofTeam.set(team, own + 1);
    return true;
  }

  give(team: TeamId): void {
    this.#all--;
    const left = (this.#ofTeam.get(team) ?? 1) - 1;
    if (left > 0) this.#ofTeam.set(team, left);
    else this.#ofTeam.delete(team);
  }
}
