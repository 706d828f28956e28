/** Tests the attack list: distinct names, and an attack for each finding of the review. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ATTACKS } from "./attacks.ts";
import { UsageError } from "../../../tools/command.ts";
import { chooseAttacks } from "./options.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** Findings that one team's requests can play; the others need a clock, a disk or a file. */
const FINDINGS = [
  ...["C1", "C2", "C3", "H3", "H4", "H5", "H6", "H7", "H8", "H10"],
  ...["M4", "M5", "M6", "M7", "M8", "L4", "L8", "L12", "L14", "A2"],
];

Deno.test("campaign --list shows every attack under a unique name", async () => {
  const main = new URL("../main.ts", import.meta.url).pathname;
  const args = [
    "run",
    "--frozen",
    `--lock=${ROOT}tests/packages/development.lock`,
    "-A",
    main,
    "campaign",
    "--list",
  ];
  const { code, stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  assertEquals(code, 0);
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  assertEquals(lines.length, ATTACKS.length);
  for (const [n, { name, does }] of ATTACKS.entries()) {
    assert(lines[n]?.startsWith(name), lines[n]);
    assertStringIncludes(lines[n] ?? "", does);
  }
  const names = ATTACKS.map(({ name }) => name);
  assertEquals(new Set(names).size, names.length);
});

Deno.test("each finding has an attack, and there are at least twenty more", () => {
  const played = new Set(ATTACKS.map(({ finding }) => finding));
  assertEquals(FINDINGS.filter((finding) => !played.has(finding)), []);
  assert(ATTACKS.filter(({ finding }) => finding === null).length >= 20);
});

Deno.test("attacks are chosen by name or finding", () => {
  const choose = (count: number, ...parts: string[]) =>
    chooseAttacks({ parts, count, seed: "1", list: false, json: null }, ATTACKS);
  const chosen = (...parts: string[]) => choose(60, ...parts).attacks.map(({ name }) => name);
  assertEquals(chosen("gzip bombs", "L14"), ["gzip bombs", "pages that no header can name"]);
  assertEquals(chosen().length, ATTACKS.length);
  const unknown = 'There is no attack "H99": --list names them';
  assertThrows(() => choose(60, "H99"), UsageError, unknown);
  const seconds = "--count, the seconds of an attack, must be above 0 and at most 3600";
  for (const count of [0, 3_601]) assertThrows(() => choose(count), UsageError, seconds);
});
