/** Bytes in flight: limits per team, and which body is dropped for another. */
import { assert, assertEquals } from "@std/assert";
import { BytesInFlight, type Flight } from "../../routes/http/bytes_in_flight.ts";

/** Starts flights, and records which were dropped. */
function flights(bytesMax: number) {
  const all = new BytesInFlight(bytesMax);
  const givenUp: string[] = [];
  const begin = (team: string, name: string, bytes: number): Flight => {
    const flight = all.begin(team, () => givenUp.push(name));
    assertEquals(flight.take(bytes), true, name);
    return flight;
  };
  return { all, givenUp, begin };
}

Deno.test("bytes in flight: a team has a quarter, plus one larger body", () => {
  const { all, begin } = flights(1_000);
  const first = begin("a", "a1", 250);
  assertEquals(all.begin("a", () => {}).take(1), false);
  first[Symbol.dispose]();
  assertEquals(all.bytes, 0);
  const large = begin("a", "a2", 200);
  assert(large.take(450));
  assertEquals(all.begin("a", () => {}).take(251), false);
  const small = begin("a", "a3", 250);
  assertEquals(all.begin("a", () => {}).take(1), false);
  for (const each of [large, small]) each[Symbol.dispose]();
  assertEquals(all.bytes, 0);
  const next = begin("a", "a4", 900);
  next[Symbol.dispose]();
  assertEquals([all.bytes, all.largestBytes], [0, 375]);
});

Deno.test("bytes in flight: the oldest body of the largest team is dropped for another team", () => {
  const { all, givenUp, begin } = flights(1_000);
  const teams = ["a", "b", "c", "d"].flatMap((team) =>
    [1, 2].map((n) => begin(team, `${team}${n}`, team === "b" && n === 1 ? 124 : 125))
  );
  const small = begin("e", "e1", 1);
  assertEquals([all.bytes, givenUp], [1_000, []]);
  assert(small.take(100));
  assertEquals([all.bytes, givenUp], [975, ["a1"]]);
  assertEquals([teams[0]?.isGivenUp, teams[0]?.take(1)], [true, false]);
  // The largest holder gets nothing from smaller ones.
  assert(small.take(25));
  assertEquals(begin("f", "f1", 100).isGivenUp, false);
  assertEquals([all.bytes, givenUp], [975, ["a1", "c1"]]);
});

Deno.test("bytes in flight: complete bodies are not dropped, and a large one waits for smaller ones", () => {
  const { all, givenUp, begin } = flights(1_000);
  for (const team of ["a", "b", "c", "d"]) begin(team, team, 250).keep();
  assertEquals(all.begin("e", () => {}).take(1), false);
  const { begin: other, all: others, givenUp: none } = flights(1_000);
  for (const team of ["a", "b", "c", "d"]) other(team, team, 250);
  assertEquals(others.begin("e", () => {}).take(300), false);
  assertEquals([givenUp, none], [[], []]);
});
