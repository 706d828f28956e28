import { assertEquals } from "@std/assert";
import plugin from "../../../tools/lint_plugin.ts";

const root = new URL("../../../", import.meta.url).pathname;

/** Returns the plugin's messages for a source at a path of the project. */
function lint(path: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, root + path, source).map(({ message }) => message);
}

const PURITY = [
  ["Date.now();", false],
  ["new Date();", false],
  ["new Date(0);", true],
  ["Date.UTC(2026, 1);", true],
  ["Math.random();", false],
  ["Math.max(1, 2);", true],
  ['fetch("http://localhost");', false],
  ["Deno.env;", false],
  ["crypto.randomUUID();", false],
  ["performance.now();", false],
  ["setTimeout(run, 1);", false],
] as const;

Deno.test("the domain has no clock, randomness, network or runtime", () => {
  for (const [source, pure] of PURITY) {
    assertEquals(lint("domain/x.ts", source).length, pure ? 0 : 1, source);
    assertEquals(lint("kv/x.ts", source).length, 0, `kv may: ${source}`);
  }
});

Deno.test("a doc comment begins with a verb or a noun", () => {
  assertEquals(lint("kv/x.ts", "/** What it does. */\nconst a = 1;").length, 1);
  assertEquals(lint("kv/x.ts", "/**\n * Whether it may.\n */\nconst a = 1;").length, 1);
  for (const source of ["/** Row of a run. */", "// What is left.", "/* How */"]) {
    assertEquals(lint("kv/x.ts", `${source}\nconst a = 1;`), [], source);
  }
});
