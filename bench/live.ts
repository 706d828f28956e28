/**
 * Opens with 200 live listeners beside them and without, in turn on one server.
 *
 * The listeners are of four teams, since one may not have so many, and the opens are of the same four.
 * They listen from this process, and take whatever comes. Usage: deno task bench-live [ROUNDS] [SECONDS]
 */
import { describeMachine } from "./machine.ts";
import { type Load, wrk, type WrkResult } from "./measure.ts";
import { untilIdle, usageOf } from "./process.ts";
import { print, say } from "./say.ts";
import { type Side, startSide } from "./sides.ts";
import { median, ratios, rotate } from "./stats.ts";
import { number, table } from "./table.ts";
import { keyOf } from "./teams.ts";
import { endWithVerdict } from "./verdict.ts";

const [rounds = 5, seconds = 5] = Deno.args.map(Number);
const TEAMS = 4;
const LISTENERS = 200;
const LOAD: Load = { call: "open", connections: 64, seconds, teams: TEAMS };
const RATIO_MIN = 0.95;
const IDLE_LIMIT_MS = 30_000;

/** What one measurement came to. */
interface Found extends WrkResult {
  /** Bytes a second that all listeners got. */
  readonly bytesPerSecond: number;
  /** CPU time of the server for one open; null where the system does not tell. */
  readonly cpuUs: number | null;
  /** Listeners that were left before the end. */
  readonly lost: number;
}

/** Somebody who listens and forgets what it hears. */
class Deaf implements Disposable {
  bytes = 0;
  isLost = false;
  readonly begun: Promise<void>;
  readonly #connection: Deno.TcpConn;
  #isOver = false;

  constructor(connection: Deno.TcpConn, team: number) {
    this.#connection = connection;
    const begun = Promise.withResolvers<void>();
    this.begun = begun.promise;
    this.#listen(team, begun).catch(() => this.isLost = !this.#isOver);
  }

  async #listen(team: number, begun: PromiseWithResolvers<void>): Promise<void> {
    const head = `GET /v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${
      keyOf(team)
    }\r\n`;
    await this.#connection.write(new TextEncoder().encode(`${head}\r\n`));
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const length = await this.#connection.read(buffer);
      if (length === null) break;
      this.bytes += length;
      begun.resolve();
    }
    this.isLost = !this.#isOver;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#connection.close();
  }
}

async function measure(side: Side, listeners: number): Promise<Found> {
  using held = new DisposableStack();
  const deaf: Deaf[] = [];
  for (let n = 0; n < listeners; n++) {
    const connection = await Deno.connect({ port: Number(new URL(side.url).port) });
    const one = held.use(new Deaf(connection, 1 + n % TEAMS));
    await one.begun;
    deaf.push(one);
  }
  const heard = () => deaf.reduce((sum, { bytes }) => sum + bytes, 0);
  const [before, used] = [heard(), await usageOf(side.pid)];
  const found = await wrk(side.url, LOAD);
  const cpuSeconds = ((await usageOf(side.pid))?.cpuSeconds ?? NaN) - (used?.cpuSeconds ?? NaN);
  const cpuUs = Number.isNaN(cpuSeconds) ? null : cpuSeconds * 1e6 / found.answered;
  const bytesPerSecond = (heard() - before) / seconds;
  const lost = deaf.filter(({ isLost }) => isLost).length;
  return { ...found, bytesPerSecond, cpuUs, lost };
}

async function main(folder: string): Promise<boolean> {
  print(`${await describeMachine(folder)}; rounds: ${rounds}, ${seconds} s each\n`);
  const found: Record<"listened" | "alone", Found[]> = { listened: [], alone: [] };
  await using side = await startSide("ours", `${folder}/live.kv`, { teams: TEAMS });
  await wrk(side.url, LOAD);
  for (let round = 0; round < rounds; round++) {
    for (const kind of rotate(["listened", "alone"] as const, round)) {
      await untilIdle(side.pid, IDLE_LIMIT_MS);
      say(`round ${round + 1}/${rounds}, ${kind} …`);
      found[kind].push(await measure(side, kind === "listened" ? LISTENERS : 0));
    }
  }
  const rates = (all: readonly Found[]) => all.map(({ requestsPerSecond }) => requestsPerSecond);
  const all = ratios(rates(found.listened), rates(found.alone));
  const row = (name: string, some: readonly Found[]) => [
    name,
    number(median(rates(some))),
    number(median(some.map(({ p99Ms }) => p99Ms)), 1),
    number(median(some.map(({ cpuUs }) => cpuUs ?? NaN)), 1),
    number(median(some.map(({ bytesPerSecond }) => bytesPerSecond / 1_000))),
    number(some.reduce((sum, { lost }) => sum + lost, 0)),
    number(some.reduce((sum, { failures }) => sum + failures, 0)),
  ];
  const head = [
    "listeners",
    "opens a second",
    "p99 ms",
    "CPU µs an open",
    "kB heard a second",
    "left",
    "failures",
  ];
  print(table(head, [row("0", found.alone), row(String(LISTENERS), found.listened)]));
  const isMet = median(all) >= RATIO_MIN && found.listened.every(({ failures }) => failures === 0);
  print(
    `${isMet ? "met   " : "MISSED"} opens beside ${LISTENERS} live listeners ÷ without: ` +
      `${number(median(all), 2)} (${number(Math.min(...all), 2)} to ` +
      `${number(Math.max(...all), 2)}; bar ≥ ${RATIO_MIN})`,
  );
  return isMet;
}

await endWithVerdict(main);
