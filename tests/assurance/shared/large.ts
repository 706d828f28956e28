/** Runs with parts that no single commit holds, while answers are lost: all stay readable. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aRun, events, runId } from "../../support/builders/requests.ts";
import { noise } from "../../support/harness/temp_store.ts";
import type { Access } from "../../support/oracles/totals.ts";
import { certain } from "./calls.ts";
import { type Cluster, type Faults, NO_FAULTS } from "./cluster.ts";

const FAULTS: Faults = { lost: 0.2, unavailable: 0.05, jitterMs: 5 };

/** Runs at once: their texts are held in memory. */
const CLIENTS = 6;

/** Run numbers of this part. */
const FIRST = 4_000_000_000;

/**
 * Events of a batch, and characters of an event and of an output: they compress badly. The batch is
 * stored as several.
 */
const EVENTS = 8, EVENT_CHARS = 250_000, OUTPUT_CHARS = 500_000;

const FINAL_MS_MAX = 60_000;

/** A run with large parts. */
class LargeRun {
  readonly path: string;
  readonly #output: string;
  readonly #batch;

  constructor(readonly n: number) {
    this.path = `/v1/runs/${runId(FIRST + n)}`;
    this.#output = noise(OUTPUT_CHARS, 100 * n);
    this.#batch = events(0, EVENTS - 1).map((event, i) => ({
      ...event,
      data: { text: noise(EVENT_CHARS, 100 * n + i + 1) },
    }));
  }

  /** Sends its calls until they are acknowledged: no first call is answered as a repeated one. */
  async send(access: Access): Promise<void> {
    const opened = await certain(access, "POST", "/v1/runs", aRun(FIRST + this.n));
    const appended = await certain(access, "POST", `${this.path}/events`, { events: this.#batch });
    const finish = aFinish({ output: this.#output });
    const finished = await certain(access, "POST", `${this.path}/finish`, finish);
    for (const { status, headers, json, isRepeated } of [opened, appended, finished]) {
      assert([200, 202].includes(status), JSON.stringify(json).slice(0, 1_000));
      assert(isRepeated || !headers.has("idempotent-replayed"), `${this.path}: a first call`);
    }
    const { accepted, duplicates } = appended.json;
    assertEquals(accepted + duplicates, EVENTS);
    assert(
      accepted === EVENTS || accepted === 0 && appended.isRepeated,
      `${this.path}: ${accepted}`,
    );
  }

  /** Reads it until its cost is final, and compares all its texts. */
  async verify(access: Access): Promise<void> {
    const endMs = performance.now() + FINAL_MS_MAX;
    for (;;) {
      const { json } = await this.#read(access, "");
      if (json.cost.state === "final") break;
      assert(performance.now() < endMs, `${this.path} is still not final`);
    }
    const texts: string[] = [];
    for (let cursor = "";;) {
      const { json } = await this.#read(access, cursor);
      assert(json.output === this.#output, `${this.path}: another output`);
      texts.push(...json.events.map(({ data }: { data: { text: string } }) => data.text));
      if (json.events_cursor === null) break;
      cursor = `&events_cursor=${json.events_cursor}`;
    }
    assertEquals(texts.length, EVENTS);
    assert(this.#batch.every(({ data }, i) => data.text === texts[i]), `${this.path}: events`);
  }

  async #read(access: Access, cursor: string) {
    const answer = await certain(access, "GET", `${this.path}?events_limit=100${cursor}`);
    assertEquals(answer.status, 200, this.path);
    return answer;
  }
}

/** Stores `count` runs, and reads them through any instance. */
export async function largeRuns(cluster: Cluster, count: number): Promise<string> {
  const { access } = cluster;
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    for (const n of numbers) {
      cluster.faults = FAULTS;
      const run = new LargeRun(n);
      await run.send(access);
      await run.verify(access);
    }
  }));
  cluster.faults = NO_FAULTS;
  await cluster.audit();
  cluster.assertNoDefects();
  return `${count} runs of ${EVENTS} events of ${EVENT_CHARS} characters and an output of ` +
    `${OUTPUT_CHARS}: 0 unreadable, 0 differences`;
}
