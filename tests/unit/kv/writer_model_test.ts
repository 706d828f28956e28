/** The writer against a model, on a store that fails in every possible way. */
import { SEED } from "../../support/harness/seed.ts";
import { writerOver } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import { Overloaded, StorageUnavailable } from "../../../domain/core/errors.ts";
import { Memory } from "../../../runtime/memory.ts";
import { BACK_ENDS, type BackEnd, QUEUE } from "../../../kv/base/limits.ts";
import type { Write } from "../../../kv/writer/group.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";

import fc from "fast-check";

/** The outcome of one write, as reported to its caller. */
type Outcome = "stored" | "stale" | "unknown";

/** One insert of a key that must not exist, counted in the same commit. */
function insert(key: number, value: number, team: string): Write {
  const at = ["item", key];
  return {
    team,
    checks: [{ key: at, versionstamp: null }],
    sums: [{ key: ["count", team], by: 1n }],
    sets: [{ key: at, value }],
  };
}

async function outcomeOf(commit: Promise<string | null>): Promise<Outcome> {
  try {
    return await commit === null ? "stale" : "stored";
  } catch (error) {
    assert(error instanceof StorageUnavailable, String(error));
    return "unknown";
  }
}

/** Faults of any store. */
const FAULTS = ["throw", "commit then throw", "locked", "slow", "lost"] as const;

function faultsOf({ mayRepeat }: BackEnd): fc.Arbitrary<Fault[]> {
  const repeats = mayRepeat ? ["repeat", "repeat"] as const : [];
  return fc.array(
    fc.constantFrom<Fault>("none", "none", "none", ...FAULTS, ...repeats),
    { maxLength: 40 },
  );
}
const inserts = fc.array(
  fc.record({ key: fc.nat(30), team: fc.constantFrom("a", "b", "c") }),
  { minLength: 1, maxLength: 120 },
);

for (const limits of [BACK_ENDS.embedded, BACK_ENDS.remote]) {
  Deno.test(`the writer reports the true outcome to every caller, ${limits.checks} checks per commit`, async () => {
    await fc.assert(
      fc.asyncProperty(inserts, faultsOf(limits), async (wanted, plan) => {
        using kv = await Deno.openKv(":memory:");
        const writer = writerOver(faultKv(kv, () => plan.shift() ?? "none"), kv, limits);
        const reported = await Promise.all(
          wanted.map(({ key, team }, n) => outcomeOf(writer.commit(insert(key, n, team)))),
        );
        await writer.idle();
        const stored = new Map<number, number>();
        for await (const { key, value } of kv.list<number>({ prefix: ["item"] })) {
          stored.set(Number(key[1]), value);
        }
        wanted.forEach(({ key }, n) => {
          const winner = stored.get(key);
          if (reported[n] === "stored") assertEquals(winner, n, "acknowledged and not there");
          if (reported[n] === "stale") {
            assert(winner !== undefined && winner !== n, "stale for nothing");
          }
        });
        const counts = new Map<string, number>();
        for (const n of stored.values()) {
          const team = wanted[n]?.team ?? "";
          counts.set(team, (counts.get(team) ?? 0) + 1);
        }
        for (const team of ["a", "b", "c"]) {
          const entry = await kv.get<Deno.KvU64>(["count", team]);
          assertEquals(
            Number(entry.value?.value ?? 0n),
            counts.get(team) ?? 0,
            "counted once each",
          );
        }
      }),
      { seed: SEED, numRuns: 60 },
    );
  });
}

/** Counts commits and their contents. */
function counting(kv: Deno.Kv, commits: number[]): Deno.Kv {
  return new Proxy(kv, {
    get(target, name) {
      if (name !== "atomic") return Reflect.get(target, name).bind(target);
      return () => {
        const operation = target.atomic();
        let checks = 0;
        const check = operation.check.bind(operation);
        operation.check = (...all) => (checks += all.length, check(...all));
        const commit = operation.commit.bind(operation);
        operation.commit = () => (commits.push(checks), commit());
        return operation;
      };
    },
  });
}

Deno.test("queued writes share commits, within the back end's limit of checks", async () => {
  for (const { checks } of [BACK_ENDS.embedded, BACK_ENDS.remote]) {
    using kv = await Deno.openKv(":memory:");
    const commits: number[] = [];
    const limits = { ...BACK_ENDS.embedded, checks };
    const writer = writerOver(counting(kv, commits), kv, limits);
    await Promise.all(Array.from({ length: 500 }, (_, n) => writer.commit(insert(n, n, "a"))));
    assertEquals(commits.reduce((a, b) => a + b), 500);
    assertEquals(Math.max(...commits), checks);
    assertEquals(commits.length, Math.ceil(500 / checks));
  }
});

Deno.test("a lost check fails only the stale write: the others share the next commit", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["item", 7], "somebody else's");
  const commits: number[] = [];
  const writer = writerOver(counting(kv, commits), kv);
  const reported = await Promise.all(
    Array.from({ length: 50 }, (_, n) => outcomeOf(writer.commit(insert(n, n, "a")))),
  );
  assertEquals(reported.map((word, n) => [word, n]).filter(([word]) => word !== "stored"), [[
    "stale",
    7,
  ]]);
  assertEquals(commits, [50, 49]);
});

Deno.test("two writes on one key never share a commit, and the second needs none", async () => {
  using kv = await Deno.openKv(":memory:");
  const commits: number[] = [];
  const writer = writerOver(counting(kv, commits), kv);
  const reported = await Promise.all(
    [1, 2, 3].map((n) => outcomeOf(writer.commit(insert(1, n, "a")))),
  );
  assertEquals([reported, commits], [["stored", "stale", "stale"], [1]]);
});

Deno.test("a team's flood does not starve another team: its next write is one turn away", async () => {
  using kv = await Deno.openKv(":memory:");
  // Commits that run at the same time may end in any order: one after another shows the turns.
  const writer = writerOver(kv, kv, { ...BACK_ENDS.remote, inFlightMax: 1 });
  const done: string[] = [];
  const flood = Array.from(
    { length: 2_000 },
    (_, n) => writer.commit(insert(n, n, "flood")).then(() => done.push("flood")),
  );
  const quiet = writer.commit(insert(-1, 0, "quiet")).then(() => done.push("quiet"));
  await Promise.all([...flood, quiet]);
  const before = done.indexOf("quiet");
  assert(before < 40, `${before} writes of the flood went first`);
});

Deno.test("a write beyond the queue limit is refused immediately, and nothing of it is stored", async () => {
  using kv = await Deno.openKv(":memory:");
  const writer = writerOver(kv);
  const waiting = Array.from(
    { length: QUEUE.teamWritesMax },
    (_, n) => outcomeOf(writer.commit(insert(n, n, "a"))),
  );
  const refused = writer.commit(insert(-1, 0, "a"));
  const other = outcomeOf(writer.commit(insert(-2, 0, "b")));
  const error = await refused.catch((error) => error);
  assert(error instanceof Overloaded, String(error));
  assertEquals(await other, "stored");
  assertEquals(new Set(await Promise.all(waiting)), new Set(["stored"]));
  assertEquals((await kv.get(["item", -1])).value, null);
});

Deno.test("queued writes are bounded in bytes, and one team has at most half of them", async () => {
  using kv = await Deno.openKv(":memory:");
  const memory = new Memory(256);
  const writer = writerOver(kv, kv, BACK_ENDS.embedded, null, memory);
  const max = memory.bytesMax("writes");
  const value = new Uint8Array(60_000);
  let keys = 0;
  const flood = async (team: string) => {
    const stored: Promise<unknown>[] = [];
    for (;;) {
      const before = waitingBytes();
      const write = writer.commit({ team, sets: [{ key: ["item", keys++], value }] });
      if (waitingBytes() > before) {
        stored.push(write);
        continue;
      }
      assert(await write.catch((error) => error) instanceof Overloaded);
      return stored;
    }
  };
  const waitingBytes = () => memory.uses().find(({ share }) => share === "writes")?.bytes ?? 0;
  // All in one turn of the event loop: nothing is committed meanwhile.
  const ours = flood("a");
  assert(waitingBytes() <= max / 2 && waitingBytes() > max / 2 - 2 * value.length);
  const theirs = flood("b");
  assert(waitingBytes() <= max && waitingBytes() > max - 4 * value.length);
  await Promise.all([...await ours, ...await theirs]);
  assertEquals(waitingBytes(), 0);
  assertEquals(
    typeof await writer.commit({ team: "a", sets: [{ key: ["last"], value }] }),
    "string",
  );
});
