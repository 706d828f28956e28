/** Every ruling cited in code, tests and documents is in `docs/CONTRACT.md`. */
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

/** Kinds of rulings: the form of a citation and the prefix of the name. */
const KINDS = [
  { pattern: new RegExp(String.raw`\bdecisions? (${NUMBERS})`, "gi"), name: "decision " },
  { pattern: new RegExp(String.raw`\bsections? (${NUMBERS})`, "gi"), name: "section " },
  {
    pattern: new RegExp(String.raw`\bpricing rules? (${NUMBERS})`, "gi"),
    name: "pricing rule ",
  },
  { pattern: new RegExp(String.raw`\bcontract (${NUMBERS})`, "gi"), name: "contract " },
  { pattern: /(?<![\w$.-])R(\d{1,2})\b/g, name: "R" },
  { pattern: /(?<![\w$.-])G(\d{1,2})\b/g, name: "G" },
  { pattern: /(?<![\w$.-])T([1-9]\d?)\b/g, name: "T" },
] as const;

/** Lists the names of the rulings that a text cites. */
function citationsIn(text: string): string[] {
  return KINDS.flatMap(({ pattern, name }) =>
    [...text.matchAll(pattern)].flatMap(([, numbers = ""]) =>
      numbers.match(/\d+/g)?.map((number) => `${name}${number}`) ?? []
    )
  );
}

/** The rulings of the document: number, title, and the names by which texts cite them. */
const rulings = [
  ...read("docs/CONTRACT.md").matchAll(/^- \*\*(\d+)\. [^*]+\*\*\s+\(([^()]+)\)\./gm),
].map(([, number, names = ""]) => ({ number: Number(number), names: names.split(/,\s+/) }));

Deno.test("every cited ruling has an entry in docs/CONTRACT.md", () => {
  const knownIds = new Set(rulings.flatMap(({ names }) => names));
  let cited = 0;
  for (const path of textsBelow("")) {
    for (const citation of citationsIn(read(path))) {
      cited++;
      assert(knownIds.has(citation), `${path} cites "${citation}", which docs/CONTRACT.md lacks`);
    }
  }
  assert(cited > 500, `${cited}`);
});

Deno.test("the contract is one list with one numbering, and each name means one ruling", () => {
  const contract = read("docs/CONTRACT.md");
  assertEquals(rulings.length, contract.match(/^- \*\*\d/gm)?.length);
  assertEquals(rulings.map(({ number }) => number), rulings.map((_, i) => i + 1));
  const names = rulings.flatMap(({ names }) => names);
  assertEquals(names.length, new Set(names).size);
  for (const name of names) assertEquals(citationsIn(name), [name]);
  for (let n = 1; n <= 45; n++) assert(names.includes(`R${n}`), `R${n}`);
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
