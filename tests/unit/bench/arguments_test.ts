import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseArguments, type Plan } from "../../../bench/arguments.ts";

function planOf(...args: string[]): Plan {
  const plan = parseArguments(args);
  assert(typeof plan !== "string", `${plan}`);
  return plan;
}

Deno.test("without arguments everything but growth is measured in three rounds", () => {
  const { rounds, connections, parts } = planOf();
  assertEquals([rounds, connections], [3, [64, 256]]);
  assertEquals(parts.includes("growth"), false);
  assertEquals(planOf("--growth").parts, [...parts, "growth"]);
});

Deno.test("--quick is one round of short measurements", () => {
  const { rounds, connections, seconds } = planOf("--quick");
  assertEquals([rounds, connections, seconds], [1, [64], 1]);
});

Deno.test("--only chooses parts, also of a quick run", () => {
  const { parts, rounds } = planOf("--only=writer,calls", "--quick");
  assertEquals([parts, rounds], [["calls", "writer"], 1]);
});

Deno.test("an argument that is not known is told, with the usage", () => {
  for (const [arg, says] of [["--fast", "--fast"], ["--only=sums", '"sums"'], ["4", '"4"']]) {
    const told = parseArguments([arg ?? ""]);
    assert(typeof told === "string");
    assertStringIncludes(told, says ?? "");
    assertStringIncludes(told, "Usage: deno task bench");
  }
});
