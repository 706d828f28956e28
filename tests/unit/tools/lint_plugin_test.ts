import { assertEquals } from "@std/assert";
import plugin from "../../../tools/lint_plugin.ts";

const root = new URL("../../../", import.meta.url).pathname;

/** Returns the plugin's messages for a source at a path of the project. */
function lint(path: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, root + path, source).map(({ message }) => message);
}

const LAYERS = [
  ["domain/runs/run.ts", 'import { z } from "zod";', true],
  ["domain/runs/run.ts", 'import { x } from "./ids.ts";', true],
  ["domain/runs/run.ts", 'import { x } from "../../kv/base/keys.ts";', false],
  ["domain/runs/run.ts", 'import { Hono } from "hono";', false],
  ["domain/runs/run.ts", 'import { x } from "node:crypto";', false],
  ["domain/runs/run.ts", 'export * from "../../routes/app.ts";', false],
  ["kv/base/keys.ts", 'import { x } from "../../domain/core/ids.ts";', true],
  ["kv/base/keys.ts", 'import { x } from "node:zlib";', true],
  ["kv/base/keys.ts", 'import { x } from "../../routes/app.ts";', false],
  ["kv/base/keys.ts", 'import { Hono } from "hono";', false],
  ["routes/api/runs/runs.ts", 'import { Hono } from "hono";', true],
  ["routes/http/host.ts", 'import { x } from "../../domain/core/ids.ts";', true],
  ["routes/http/host.ts", 'import { x } from "./answer.ts";', true],
  ["routes/http/host.ts", 'import { x } from "../../kv/base/keys.ts";', false],
  ["routes/api/runs/runs.ts", 'export { x } from "../../../kv/base/keys.ts";', false],
  ["main.ts", 'import { x } from "./kv/base/keys.ts";', true],
  ["tests/unit/kv/keys_test.ts", 'import { x } from "../../../kv/base/keys.ts";', true],
] as const;

Deno.test("layers import only lower layers", () => {
  for (const [path, source, allowed] of LAYERS) {
    assertEquals(lint(path, source).length, allowed ? 0 : 1, `${path}: ${source}`);
  }
});

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
