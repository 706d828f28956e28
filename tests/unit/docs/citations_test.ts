/** Every ruling cited in code, tests and documents is in `docs/DECISIONS.md`. */
import { assert, assertEquals } from "@std/assert";

const root = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, root));

/** Folders not searched: data, images and generated files. */
const SKIPPED_FOLDERS = new Set([".git", "data", "images", "node_modules", "output"]);

/** Lists the paths of all texts below a folder that may cite a ruling. */
function textsBelow(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return SKIPPED_FOLDERS.has(name) ? [] : textsBelow(`${folder}${name}/`);
    return /\.(tsx?|js|css|md)$/.test(name) ? [`${folder}${name}`] : [];
  });
}

/** Matches numbers after a word, such as "decisions 5, 6 and 8 to 10"; the last may end a range. */
const NUMBERS = String.raw`\d{1,3}(?:(?:, | and | to |, and |-)\d{1,3})*`;

/** Kinds of rulings: the form of a citation and the prefix of the heading. */
const KINDS = [
  { pattern: new RegExp(String.raw`\bdecisions? (${NUMBERS})`, "gi"), heading: "Decision " },
  { pattern: new RegExp(String.raw`\bsections? (${NUMBERS})`, "gi"), heading: "Section " },
  {
    pattern: new RegExp(String.raw`\bpricing rules? (${NUMBERS})`, "gi"),
    heading: "Pricing rule ",
  },
  { pattern: new RegExp(String.raw`\bcontract (${NUMBERS})`, "gi"), heading: "Contract " },
  { pattern: /(?<![\w$.-])R(\d{1,2})\b/g, heading: "R" },
] as const;

/** Lists the rulings that a text cites, by the prefix of their headings. */
function citationsIn(text: string): string[] {
  return KINDS.flatMap(({ pattern, heading }) =>
    [...text.matchAll(pattern)].flatMap(([, numbers = ""]) =>
      numbers.match(/\d+/g)?.map((number) => `${heading}${number}`) ?? []
    )
  );
}

const headings = [...read("docs/DECISIONS.md").matchAll(/^(?:##+|\|) ([A-Z][a-z ]*\d+)/gm)]
  .map(([, heading = ""]) => heading);

Deno.test("every cited ruling has an entry in docs/DECISIONS.md", () => {
  const knownIds = new Set(headings);
  let cited = 0;
  for (const path of textsBelow("")) {
    for (const citation of citationsIn(read(path))) {
      cited++;
      assert(knownIds.has(citation), `${path} cites "${citation}", which docs/DECISIONS.md lacks`);
    }
  }
  assert(cited > 500, `${cited}`);
});

Deno.test("every ruling has one entry, and each kind is numbered in order", () => {
  assertEquals(headings.length, new Set(headings).size);
  for (const { heading } of KINDS) {
    const numbers = headings.filter((each) => each.replace(/\d+$/, "") === heading)
      .map((each) => Number(each.slice(heading.length)));
    assertEquals(numbers, numbers.toSorted((a, b) => a - b), heading);
    assertEquals(numbers[0], 1, heading);
    // Numbers of decisions are reserved for features in advance.
    if (heading !== "Decision ") assertEquals(numbers.length, numbers.at(-1), heading);
  }
});

/** Citations of documents outside the repository. */
const ELSEWHERE =
  /\(spec[,:] (?:[A-Z][a-z ]+[,;:)]|`)|"spec[,:] |the specification\b|\b(?:interface|decisions|design)\.md/;

Deno.test("no text cites a document outside the repository", () => {
  for (const path of textsBelow("")) {
    if (path === "tests/unit/docs/citations_test.ts") continue;
    const match = ELSEWHERE.exec(read(path));
    assertEquals(match?.[0], undefined, path);
  }
});
