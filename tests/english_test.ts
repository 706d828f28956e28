/** Words that read badly wherever they stand: in code, comments, docs, and on pages. */
import { assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);

/** Each with what to write instead. */
const BANNED: readonly { readonly words: RegExp; readonly instead: string }[] = [
  { words: /\banew\b/i, instead: "again, or the verb alone: repriced, recalculated, reset" },
  { words: /\bwhoever\b/i, instead: "name the person or the program" },
  { words: /\blately\b/i, instead: "recently, or the time span" },
  { words: /\bmostly\b/i, instead: "usually, or the share" },
  { words: /\bcom(?:es?|ing) to\b(?! (?:an end|rest|mind|light))/i, instead: "totals, or is" },
  { words: /\bsum(?:s|med|ming)? up\b/i, instead: "aggregated, totals, or summarized" },
];

/**
 * Names that several things had, or that do not say what a thing is. CONTRIBUTING asks for the noun of
 * the thing. A lookup is one.
 */
const REFUSED_NAME = new RegExp(
  String.raw`\b(?:const|let|function\*?|class|interface|type) (` +
    String.raw`found|held|told|making|room|trunk|story|offer|lead|looke?d?s?|looking|` +
    String.raw`troubles?|tally|settled?|(?:look(?!up)|tally|settle)[A-Z]\w*|` +
    String.raw`\w*(?:LOOK(?!UP)|Look(?!up)|Trouble|Tally|TALLY|Settle)\w*)\b`,
);

const TEXT = /\.(?:tsx?|js|css|md|json|jsonl|sh|py|yml)$/;
const FOLDERS = [
  "app",
  "bench",
  "docs",
  "domain",
  "examples",
  "jobs",
  "kv",
  "outbound",
  "routes",
  "runtime",
  "tests",
];
const SKIPPED = new Set(["tests/english_test.ts", "domain/pricing/default_rates.json"]);

function* textFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(`${folder}/`, ROOT))) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* textFiles(path);
    else if (TEXT.test(name) && !SKIPPED.has(path)) yield path;
  }
}

/** Returns each line of a text that has a banned word or name, with what to write instead. */
function problemsIn(path: string, text: string): string[] {
  const names = { words: REFUSED_NAME, instead: "the noun of the thing" };
  const hasCode = /\.tsx?$/.test(path);
  const banned = hasCode ? [...BANNED, names] : BANNED;
  return text.split("\n").flatMap((line, index) =>
    banned.filter(({ words }) => words.test(line)).map(({ words, instead }) =>
      `${path}:${index + 1}: "${words.exec(line)?.[0]}": write ${instead}`
    )
  );
}

Deno.test("english: no file has a banned word", () => {
  const files = ["README.md", "CONTRIBUTING.md", "main.ts", "tools", ...FOLDERS].flatMap((entry) =>
    entry.includes(".") ? [entry] : [...textFiles(entry)]
  );
  const problems = files.flatMap((path) =>
    problemsIn(path, Deno.readTextFileSync(new URL(path, ROOT)))
  );
  assertEquals(problems, []);
});

Deno.test("english: the check finds each of the words", () => {
  const names = ["let found = 1;", "class RuleLooks {", "const LOOK_MS = 1;", "type Tally = 1;"];
  for (const line of ["begins Anew", "Whoever asks", "comes to 3 USD", "is summed up", ...names]) {
    assertEquals(problemsIn("a.ts", line).length, 1, line);
  }
  for (const line of ["const lookup = 1;", "const LOOKUPS = 1;", "const settings = 1;"]) {
    assertEquals(problemsIn("a.ts", line), []);
  }
  assertEquals(problemsIn("a.md", "let found = 1;"), []);
  assertEquals(problemsIn("a.ts", "the sum of its runs"), []);
});
