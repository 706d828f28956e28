/** Instances that share a team's rate limit buckets through a real KV, on a test clock. */
import { assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { type Api, createRequestLimits } from "../../../runtime/rate_limit.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { RateSlices } from "../../../kv/teams/rate_slices.ts";
import { NOON } from "../harness/harness.ts";
import { storeOver } from "../harness/stores.ts";
import { FakeTimers } from "./fake_timers.ts";

/** 100 requests a second with a burst of 200: a slice is 20. */
export const TEAM: Team = { id: "01J00000000000000000000000" as TeamId, name: "t", tier: "free" };

/** A round trip to a KV. */
class Distance {
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

export class Instances {
  readonly timers: FakeTimers;
  readonly slices: RateSlices[];
  team = TEAM;
  /** Requests of {@link request} that were admitted, and that were refused. */
  readonly decided = { admitted: 0, refused: 0 };
  readonly #limits;
  readonly #kv: Deno.Kv;
  readonly #deadlines: Deadlines;

  private constructor(real: Deno.Kv, kv: Deno.Kv, count: number, timers = new FakeTimers()) {
    this.timers = timers;
    this.#deadlines = new Deadlines(2_000, timers);
    this.#kv = real;
    const store = storeOver(kv, kv, BACK_ENDS.remote, this.#deadlines);
    this.slices = Array.from({ length: count }, () => new RateSlices(store, this.timers, NOON));
    this.#limits = this.slices.map((slices) =>
      createRequestLimits(this.timers.now, (api) => slices.bucketsFor(api))
    );
  }

  static async open(count: number, wrap = (kv: Deno.Kv) => kv): Promise<Instances> {
    const kv = await Deno.openKv(":memory:");
    return new Instances(kv, wrap(kv), count);
  }

  /** Opens instances whose store is a round trip away. */
  static async openDistant(count: number, roundTripMs: number, wrap = (kv: Deno.Kv) => kv) {
    const kv = await Deno.openKv(":memory:");
    const timers = new FakeTimers();
    const distance = new Distance(timers, roundTripMs);
    const t = new Instances(kv, distance.to(wrap(kv)), count, timers);
    return { t, distance };
  }

  /** Sends concurrent requests to an instance; returns how many it admitted. */
  ask(instance: number, count: number, api: Api = "ingest"): number {
    const nowMs = this.timers.now();
    const bucket = this.#limits[instance]?.[api].bucketOf(this.team, nowMs);
    return Array.from({ length: count }, () => bucket?.take(nowMs)).filter(Boolean).length;
  }

  /** Sends concurrent requests to an instance, which may wait. */
  request(instance: number, count: number): void {
    const nowMs = this.timers.now();
    const bucket = this.#limits[instance]?.ingest.bucketOf(this.team, nowMs);
    for (let n = 0; n < count; n++) {
      void bucket?.request(nowMs, (hasToken) => this.decided[hasToken ? "admitted" : "refused"]++);
    }
  }

  /** Overloads every instance for a duration. */
  async flood(forMs: number): Promise<void> {
    for (let ms = 0; ms < forMs; ms += 10, this.timers.advance(10)) {
      for (const n of this.slices.keys()) {
        await this.idle();
        this.ask(n, 50);
      }
    }
    await this.idle();
  }

  /** Waits for the leases in flight. */
  async idle(): Promise<void> {
    await Promise.all(this.slices.map((slices) => slices.idle()));
  }

  /** The rows, by part of the API. */
  async rows(): Promise<Record<string, { units: number }>> {
    const rows = await Array.fromAsync(
      this.#kv.list<{ units: number }>({ prefix: ["rate_bucket"] }),
    );
    for (const { key } of rows) assertEquals(key[1], TEAM.id);
    return Object.fromEntries(rows.map(({ key, value }) => [String(key[2]), value]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const slices of this.slices) await slices.stop();
    this.#deadlines[Symbol.dispose]();
    this.#kv.close();
    assertEquals(this.timers.set.length, 0, "a timer is left");
  }
}
