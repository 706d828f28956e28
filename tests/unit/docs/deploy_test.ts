/** `docs/DEPLOY.md` and `docs/SHARED_KV.md` agree with what is built. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SETTING_NAMES } from "../../../app/config.ts";
import { DENO_MIN, platformOf } from "../../../app/platform.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, root));

const text = read("docs/DEPLOY.md");
const { deploy } = JSON.parse(read("deno.json"));

/** Maximum crons of a revision on the platform's free plan. */
const CRONS_MAX = 10;

Deno.test("each setting that the guides name exists", () => {
  const names = (text + read("docs/SHARED_KV.md")).match(/\bRUNLEDGER_\w+/g) ?? [];
  const known = [...SETTING_NAMES, "RUNLEDGER_SITE"]; // The last one is of ops/compose.yaml.
  for (const name of names) assert(known.includes(name), name);
  assert(names.length > 10);
});

Deno.test("DEPLOY.md names the crons", () => {
  const crons = [...read("main.ts").matchAll(/Deno\.cron\("([^"]+)"/g)].map(([, name]) => name);
  assert(crons.length > 0 && crons.length <= CRONS_MAX);
  for (const name of crons) assertStringIncludes(text, `\`${name}\``);
});

Deno.test("DEPLOY.md names the files of the app's configuration, which it does not exclude", () => {
  const { runtime: { entrypoint }, predeploy, install, exclude } = deploy;
  const files = [entrypoint, ...predeploy.match(/\S+\.ts/g), ...install.match(/\S+\.ts/g)];
  for (const file of files) {
    assert(Deno.statSync(new URL(file, root)).isFile, file);
    assertStringIncludes(text, file);
    assert(!exclude.includes(file.split("/")[0]), file);
  }
});

Deno.test("DEPLOY.md's link has the commands of the app's configuration", () => {
  const [link = ""] = text.match(/https:\/\/console\.deno\.com\/new\?\S+/) ?? [];
  const { install, predeploy } = Object.fromEntries(new URL(link).searchParams);
  assertEquals({ install, predeploy }, { install: deploy.install, predeploy: deploy.predeploy });
});

Deno.test("the workflow runs everything with the pinned Deno, and the oldest one runs the service", () => {
  const workflow = read(".github/workflows/ci.yml");
  const [pinned = ""] = read("README.md").match(/deno@[\d.]+/) ?? [];
  assertStringIncludes(read(".ci/run"), pinned);
  assertStringIncludes(workflow, "run: sudo --preserve-env .ci/run");
  assertStringIncludes(workflow, `run: npx -y ${pinned} task assure versions ${DENO_MIN}`);
});

Deno.test("DEPLOY.md has the limits of the platform's profile", () => {
  const { drainMs, silentMsMax, memoryMb } = platformOf({ DENO_DEPLOY: "1" });
  const rows: [string, string][] = [
    ["runs until it is stopped", `at most ${drainMs / 1_000} s to drain`],
    ["`wait` and long polls", `after at most ${silentMsMax / 1_000} s`],
    ["live streams stay open", `every ${silentMsMax / 1_000} s`],
    ["`RUNLEDGER_MEMORY_MB` is 600", `${memoryMb}`],
  ];
  for (const [what, value] of rows) {
    const row = text.split("\n").find((line) => line.startsWith(`| ${what}`)) ?? "";
    assertStringIncludes(row, value, what);
  }
  assertStringIncludes(text, `${DENO_MIN} or newer`);
});

/** Dollars a million requests, writes and reads. */
const PRICES = [2, 2.5, 1] as const;

Deno.test("DEPLOY.md's costs are the counts at the prices, and each sum is that of its row", () => {
  const rows = text.split("\n").filter((line) => line.startsWith("| ")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.replace(/[$*]/g, "").trim())
  );
  const counts = new Map(
    rows.filter(({ length }) => length === 4).map(([unit, ...cells]) => [unit, cells.map(Number)]),
  );
  const costs = rows.filter(({ length }) => length === 6).filter(([, cell]) => Number(cell) > 0);
  assertEquals(costs.length, 4);
  for (const [name = "", ...cells] of costs) {
    const together = name.includes("at once") ? "hundreds a second" : "one at a time";
    const unit = name.includes("heartbeats") ? "heartbeat" : "complete run (10 events)";
    const amounts = counts.get(`${unit}, ${together}`) ?? [];
    assertEquals(
      cells.slice(0, 3).map(Number),
      amounts.map((n, at) => Math.round(n * PRICES[at]!)),
    );
    const [sum, ...parts] = cells.map(Number).reverse();
    assertEquals(sum, parts.reduce((total, part) => total + part, 0), name);
  }
});

Deno.test("DEPLOY.md marks what was not tried", () => {
  assert((text.match(/not tried on the platform/gi) ?? []).length >= 4);
});
