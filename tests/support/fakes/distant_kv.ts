/** A KV behind a round trip, on a test clock. */
import type { FakeTimers } from "./fake_timers.ts";

/** A round trip. */
export class Distance {
  readonly #timers: FakeTimers;
  readonly #ms: number;
  /** Operations at the KV itself. */
  #there = 0;

  constructor(timers: FakeTimers, ms: number) {
    this.#timers = timers;
    this.#ms = ms;
  }

  /** Wraps the operations that leases use. */
  to(kv: Deno.Kv): Deno.Kv {
    return new Proxy(kv, {
      get: (target, name) => {
        if (name === "get") return (key: Deno.KvKey) => this.#trip(() => target.get(key));
        if (name === "getMany") {
          return (keys: Deno.KvKey[]) => this.#trip(() => target.getMany(keys));
        }
        if (name !== "atomic") return Reflect.get(target, name).bind(target);
        return () => {
          const operation = target.atomic();
          const commit = operation.commit.bind(operation);
          operation.commit = () => this.#trip(commit);
          return operation;
        };
      },
    });
  }

  /** Moves the clock in small steps, each after the KV has done its part. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      this.#timers.advance(10);
      do await new Promise((resolve) => setTimeout(resolve)); while (this.#there > 0);
    }
  }

  async #trip<T>(work: () => Promise<T>): Promise<T> {
    await this.#travel();
    this.#there++;
    const result = await work().finally(() => this.#there--);
    await this.#travel();
    return result;
  }

  #travel(): Promise<void> {
    return new Promise((resolve) => void this.#timers.after(this.#ms / 2, () => resolve()));
  }
}
