/**
 * Time, chance and order of a process, determined by its calls alone.
 *
 * Reads and commits of a store run one after the other, in the order in which they were asked for.
 * Time passes only when nothing else is left to do: then the next timer fires at once. So neither the
 * machine's speed nor its clock decides what a service does next.
 */

/** First byte of all random bytes: no id of a client begins with it. */
const FIRST = 0xff;

/** Milliseconds that pass with each read of the process's clock. */
const READ_MS = 0.001;

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/** Replaces the clock, the timers and the random numbers of the process until it is disposed. */
export class Determined implements Disposable {
  readonly #originals = {
    ...{ dateNow: Date.now, processNow: performance.now, random: Math.random },
    ...{ setTimeout, clearTimeout, bytes: crypto.getRandomValues, subtle: crypto.subtle },
  };
  readonly #tasks: (() => Promise<void>)[] = [];
  readonly #timers = new Map<number, Timer>();
  #timerCount = 0;
  #processMs = 0;
  #drawn = 0;
  #isWorking = false;

  /** @param dateMs the instant that the process's clock shows, unix milliseconds */
  constructor(dateMs: number) {
    Date.now = () => dateMs;
    performance.now = () => this.#processMs += READ_MS;
    Math.random = () => 0.5;
    const bytes = (target: Uint8Array) => {
      target.set(this.random(target.length));
      return target;
    };
    replace(crypto, "getRandomValues", bytes);
    replace(crypto, "subtle", inOrder(crypto.subtle, SUBTLE, this.run));
    globalThis.setTimeout = this.#setTimeout as unknown as typeof setTimeout;
    globalThis.clearTimeout = (id) => {
      if (!this.#timers.delete(Number(id))) this.#originals.clearTimeout(id);
    };
  }

  /**
   * Returns bytes that are greater than all before, so that names sort by their creation. Few bytes are
   * no name but a part of a pause, which is then always the same.
   */
  readonly random = (length: number): Uint8Array<ArrayBuffer> => {
    const bytes = new Uint8Array(length);
    if (length <= 4) return bytes;
    // The digits of a number: the id of a team takes five bits of each byte.
    for (let at = length - 1, rest = ++this.#drawn; rest > 0; at--, rest >>= 5) {
      bytes[at] = rest & 31;
    }
    bytes[0] = FIRST;
    return bytes;
  };

  /** Runs a task after all tasks before. */
  readonly run = <T>(work: () => Promise<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#tasks.push(() => work().then(resolve, reject));
    this.#begin();
    return promise;
  };

  /** Returns a handle whose reads and commits are tasks. */
  kv(kv: Deno.Kv): Deno.Kv {
    return inOrder(kv, ["get", "getMany"], this.run, {
      list: (...args: Parameters<Deno.Kv["list"]>) => {
        const rows = kv.list(...args);
        return {
          next: () => this.run(() => rows.next()),
          [Symbol.asyncIterator]() {
            return this;
          },
          get cursor() {
            return rows.cursor;
          },
        };
      },
      atomic: () => this.#atomic(kv.atomic()),
    });
  }

  #atomic(operation: Deno.AtomicOperation): Deno.AtomicOperation {
    const { run } = this;
    const ordered: Deno.AtomicOperation = new Proxy(operation, {
      get: (_, name) => (...args: unknown[]) => {
        if (name === "commit") return run(() => operation.commit());
        Reflect.get(operation, name).apply(operation, args);
        return ordered;
      },
    });
    return ordered;
  }

  readonly #setTimeout = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    // Negative ids are none of the runtime's.
    const id = -++this.#timerCount;
    this.#timers.set(id, { dueMs: this.#processMs + ms, fire: () => callback(...args) });
    this.#begin();
    return id;
  };

  #begin(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work();
  }

  async #work(): Promise<void> {
    while (this.#tasks.length > 0 || this.#timers.size > 0) {
      const task = this.#tasks.shift();
      if (task !== undefined) await task();
      else {
        // What is neither a task nor a timer ends within a turn of the event loop.
        await new Promise((resolve) => this.#originals.setTimeout(resolve, 0));
        if (this.#tasks.length === 0) this.#fireNext();
      }
    }
    this.#isWorking = false;
  }

  #fireNext(): void {
    const [first] = [...this.#timers].toSorted(([, a], [, b]) => a.dueMs - b.dueMs);
    if (first === undefined) return;
    const [id, { dueMs, fire }] = first;
    this.#timers.delete(id);
    this.#processMs = Math.max(this.#processMs, dueMs);
    fire();
  }

  [Symbol.dispose](): void {
    const { dateNow, processNow, random, bytes, subtle, ...timers } = this.#originals;
    Date.now = dateNow;
    performance.now = processNow;
    Math.random = random;
    Object.assign(globalThis, timers);
    replace(crypto, "getRandomValues", bytes);
    replace(crypto, "subtle", subtle);
  }
}

const SUBTLE = ["encrypt", "decrypt", "importKey"] as const;

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

/** Returns an object whose named methods are tasks. */
function inOrder<T extends object>(
  target: T,
  names: readonly (keyof T)[],
  run: Determined["run"],
  others: Partial<Record<keyof T, unknown>> = {},
): T {
  const methodOf = (name: PropertyKey) => {
    const value = Reflect.get(target, name);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(others, name)) return others[name as keyof T];
      const method = methodOf(name);
      const isTask = names.includes(name as keyof T);
      return isTask ? (...args: unknown[]) => run(() => method(...args)) : method;
    },
  });
}
