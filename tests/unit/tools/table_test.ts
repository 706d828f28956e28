import { assertEquals } from "@std/assert";
import { number, table } from "../../../tools/table.ts";

Deno.test("a table is Markdown, with right-aligned numbers and a dash for missing values", () => {
  assertEquals(
    table(["call", "per second"], [["open", "21,704"], ["finish", "-"]]),
    [
      "| call   | per second |",
      "| ------ | ---------: |",
      "| open   |     21,704 |",
      "| finish |          - |",
    ].join("\n"),
  );
});

Deno.test("numbers have decimals and thousands separators", () => {
  assertEquals(number(1_234_567.4), "1,234,567");
  assertEquals(number(0.5, 2), "0.50");
  assertEquals([number(null), number(NaN), number(Infinity)], ["-", "-", "-"]);
});
