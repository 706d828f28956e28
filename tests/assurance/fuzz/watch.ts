/** System data of a process: its memory, and the time it waited for a processor. */
import { parseUsage } from "../../../bench/process.ts";

const SAMPLE_MS = 250;

/** Observes a running service. Always `using`. */
export class Watch implements Disposable {
  readonly rssMb: number[] = [];
  readonly #pid: number;
  readonly #samples: { readonly atMs: number; readonly waitedMs: number }[] = [];
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(pid: number) {
    this.#pid = pid;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  #sample(): void {
    this.#samples.push({ atMs: performance.now(), waitedMs: this.#waitedMs() });
    const [stat, status] = [readProc(`${this.#pid}/stat`), readProc(`${this.#pid}/status`)];
    if (stat !== null && status !== null) this.rssMb.push(parseUsage(stat, status).rssMb);
  }

  /**
   * Returns the milliseconds since `sinceMs` in which the service or this process was ready to run
   * but the machine was busy. A delay of that length is not the service's.
   */
  keptWaitingMs(sinceMs: number): number {
    const before = this.#samples.findLast(({ atMs }) => atMs <= sinceMs) ?? this.#samples[0];
    return this.#waitedMs() - (before?.waitedMs ?? 0);
  }

  #waitedMs(): number {
    return waitedMsOf(this.#pid) + waitedMsOf(Deno.pid);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Returns the kernel's wait time of the main thread; 0 if the system does not report it. */
function waitedMsOf(pid: number): number {
  const [, nanoseconds] = readProc(`${pid}/schedstat`)?.split(" ") ?? [];
  return Number(nanoseconds ?? 0) / 1e6;
}

function readProc(path: string): string | null {
  try {
    return Deno.readTextFileSync(`/proc/${path}`);
  } catch (error) {
    return absent(error);
  }
}

/** Reading the data of a process that ends meanwhile fails in two ways. */
function absent(error: unknown): null {
  const isGone = error instanceof Deno.errors.NotFound ||
    (error instanceof Error && error.message.includes("No such process"));
  if (isGone) return null;
  throw error;
}
