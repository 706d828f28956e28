import { assert, assertEquals, assertThrows } from "@std/assert";
import { memo, Memory } from "../../../runtime/memory.ts";

function counted(make: (name: string) => string = (name) => `made ${name}`) {
  const memory = new Memory(256);
  const made: string[] = [];
  const get = memo((name: string) => {
    made.push(name);
    return make(name);
  }, { memory, part: 1, nameOf: (name) => name, bytesOf: () => 100_000 });
  return { memory, made, get };
}

Deno.test("memo: a result is made once, while it is kept", () => {
  const { get, made } = counted();
  assertEquals([get.has("a"), get("a"), get("a"), get.has("a")], [false, "made a", "made a", true]);
  assertEquals(made, ["a"]);
});

Deno.test("memo: its share of the memory bounds it, and the least recently used result goes", () => {
  const { get, memory } = counted();
  get("first");
  for (let n = 0; n < 100; n++) {
    get(`${n}`);
    get("first");
  }
  assertEquals([get.has("first"), get.has("99"), get.has("0")], [true, true, false]);
  const [use] = memory.uses();
  assert(use !== undefined && use.bytes > 0 && use.bytes <= use.bytesMax);
});

Deno.test("memo: an error is thrown each time", () => {
  const { get, made } = counted(() => {
    throw new TypeError("wrong");
  });
  for (let n = 0; n < 2; n++) assertThrows(() => get("a"), TypeError, "wrong");
  assertEquals([made, get.has("a")], [["a", "a"], false]);
});
