/**
 * Measures opens with and without 200 live listeners, alternating on one server.
 *
 * The listeners belong to four teams, because of the limit of a team; the opens are of the same
 * teams. The listeners run in this process and read everything they receive.
 */
import { number, table } from "../tools/table.ts";
import {
  inTurn,
  type Load,
  LOAD_HEAD,
  loadRow,
  measure,
  type Measured,
  rateRatios,
} from "./load.ts";
import type { BenchOptions } from "./options.ts";
import { atLeast, type Bar, print } from "./report.ts";
import { keyOf } from "./service.ts";
import { type Side, startSide } from "./sides.ts";
import { median } from "./stats.ts";

const TEAMS = 4;
const LISTENERS = 200;
const RATIO_MIN = 0.95;

export async function bench({ folder, rounds = 5, seconds = 5 }: BenchOptions): Promise<Bar[]> {
  await using side = await startSide("ours", `${folder}/live.kv`, { teams: TEAMS });
  const load: Load = { call: "open", connections: 64, seconds, teams: TEAMS };
  const { beside, alone } = await inTurn("live", rounds, {
    beside: () => measureBeside(side, load, LISTENERS),
    alone: () => measureBeside(side, load, 0),
  });
  const row = (name: string, all: readonly LiveMeasured[]) => [
    ...loadRow(name, load.connections, all),
    number(median(all.map(({ bytesPerSecond }) => bytesPerSecond / 1_000))),
    number(all.reduce((sum, { lost }) => sum + lost, 0)),
  ];
  const rows = [row("open", alone), row(`open, ${LISTENERS} listeners`, beside)];
  print(table([...LOAD_HEAD, "kB a second to listeners", "left"], rows));
  const name = `opens beside ${LISTENERS} live listeners ÷ without`;
  const bar = atLeast(name, RATIO_MIN, rateRatios(beside, alone));
  const isClean = beside.every(({ failures }) => failures === 0);
  return [{ ...bar, met: bar.met && isClean }];
}

interface LiveMeasured extends Measured {
  /** Bytes a second received by all listeners. */
  readonly bytesPerSecond: number;
  /** Listeners that were disconnected before the end. */
  readonly lost: number;
}

/** A listener that discards what it receives. */
class Listener implements Disposable {
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

async function measureBeside(side: Side, load: Load, listeners: number): Promise<LiveMeasured> {
  using listenerStack = new DisposableStack();
  const opened: Listener[] = [];
  for (let n = 0; n < listeners; n++) {
    const connection = await Deno.connect({ port: Number(new URL(side.url).port) });
    const listener = listenerStack.use(new Listener(connection, 1 + n % TEAMS));
    await listener.begun;
    opened.push(listener);
  }
  const receivedBytes = () => opened.reduce((sum, { bytes }) => sum + bytes, 0);
  const before = receivedBytes();
  const measured = await measure(side, load);
  const bytesPerSecond = (receivedBytes() - before) / load.seconds;
  return { ...measured, bytesPerSecond, lost: opened.filter(({ isLost }) => isLost).length };
}
