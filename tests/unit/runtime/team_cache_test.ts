/** The cache of teams: its bound, and who makes room for whom. */
import { assert, assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { TeamCache } from "../../../runtime/team_cache.ts";
import { Random } from "../../../tools/random.ts";
import { SEED } from "../../support/harness/seed.ts";

/** Opens a cache for 100 entries of 1,000 bytes. */
function openCache() {
  const memory = new Memory(256);
  const part = 100_000 / memory.bytesMax("guard");
  const cache = new TeamCache<number>({ memory, share: "guard", part, bytesOf: (n) => n - 120 });
  return { cache, bytes: () => memory.uses()[0]?.bytes ?? NaN };
}

Deno.test("team cache: one team alone may use all of it, and replaces what it used longest ago", () => {
  const { cache, bytes } = openCache();
  for (let n = 0; n < 100; n++) cache.set("a", `${n}`, 1_000);
  assertEquals([cache.get("a", "0"), bytes()], [1_000, 100_000]);
  cache.set("a", "100", 1_000);
  assertEquals([cache.peek("a", "0"), cache.peek("a", "1"), bytes()], [1_000, undefined, 100_000]);
});

Deno.test("team cache: a team with very many entries pushes out none of another team", () => {
  const { cache } = openCache();
  for (let n = 0; n < 25; n++) cache.set("quiet", `${n}`, 1_000);
  for (let n = 0; n < 10_000; n++) cache.set("many", `${n}`, 1_000);
  for (let n = 0; n < 25; n++) assertEquals(cache.peek("quiet", `${n}`), 1_000);
  assertEquals([cache.peek("many", "9999"), cache.peek("many", "9925")], [1_000, 1_000]);
  assertEquals(cache.peek("many", "9924"), undefined);
});

Deno.test("team cache: a team that has it all makes room for others, down to a quarter", () => {
  const { cache } = openCache();
  for (let n = 0; n < 100; n++) cache.set("many", `${n}`, 1_000);
  for (const team of ["a", "b", "c"]) {
    for (let n = 0; n < 25; n++) cache.set(team, `${n}`, 1_000);
  }
  const kept = (team: string) => Array.from({ length: 100 }, (_, n) => cache.peek(team, `${n}`));
  const counts = ["many", "a", "b", "c"].map((team) => kept(team).filter((n) => n).length);
  assertEquals(counts, [25, 25, 25, 25]);
  // None is large, so the team that was used longest ago makes room.
  cache.get("many", "99");
  cache.set("d", "0", 1_000);
  assertEquals([cache.peek("a", "0"), cache.peek("a", "1")], [undefined, 1_000]);
});

Deno.test("team cache: an entry that is too large is not stored, and takes its older value along", () => {
  const { cache, bytes } = openCache();
  cache.set("a", "0", 1_000);
  cache.set("a", "0", 25_001);
  assertEquals([cache.peek("a", "0"), bytes()], [undefined, 0]);
});

Deno.test("team cache: its bytes are those of its entries after any calls", () => {
  const { cache, bytes } = openCache();
  const random = new Random(`${SEED}`);
  const stored = new Map<string, number>();
  for (let call = 0; call < 500; call++) {
    const [team, name] = [`t${random.int(0, 7)}`, `${random.int(0, 19)}`];
    if (random.chance(0.2)) cache.delete(team, name);
    else if (random.chance(0.3)) cache.get(team, name);
    else cache.set(team, name, random.int(500, 3_500));
    stored.set(`${team} ${name}`, 0);
    const entries = [...stored.keys()].map((each) => each.split(" ") as [string, string]);
    const sum = entries.reduce((total, each) => total + (cache.peek(...each) ?? 0), 0);
    assertEquals(bytes(), sum);
    assert(sum <= 100_000);
    assertEquals(
      cache.teams.has(team),
      entries.some((each) => each[0] === team && cache.peek(...each)),
    );
  }
});
