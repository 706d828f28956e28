/** Expressions of checks that shall cost much, break the parser, or reach what they must not. */
import type { Random } from "../../../tools/random.ts";

/** Characters of the longest expression. */
const CHARS_MAX = 1_000;

/** Parts of expressions, none of which has a space. */
function words(text: string) {
  return text.split(" ") as [string, ...string[]];
}

const PATTERNS = words(
  `(a+)+$ (a|a)*b (a|aa)+$ (.*)*x (.*a){20} (a*)*(a*)*(a*)*$ a** (?:a?){40}a{40} ` +
    `(a{1,1000}){1,1000} a{1001} ((((a{9}){9}){9}){9}){9} .{0,900}x [^b]{300}$ \\\\pL{500} ` +
    `(?i)[\\\\pL\\\\pN]{400} (a|b|c|d|e|f|g){99}z (?s).*.*.*.*.*=.* ` +
    `^(([a-z])+.)+[A-Z]([a-z])+$ (?=a)b (?<=a)b (a)\\\\1 (?>a+) [ ( a{2,1} \\\\ * (?P<n>a ` +
    `[[:alpha:]]{900} `,
);

const TEXTS = [
  "output.text",
  "goal",
  "output.words",
  "string(output.list)",
  "output.text + output.text",
] as const;

const LISTS = [
  "tools",
  "calls",
  "output.list",
  "tools.map(t, t)",
  "output.list.filter(i, true)",
  "[1,2,3]",
] as const;

const LEAVES = words(
  `cost_usd usage.errors output output.list tools scores metadata unpriced true null 1 -1 ` +
    `1e308 9223372036854775807 9223372036854775808 0x7f 1u "a" b'\\xff' r'\\d' '''a''' [] ` +
    `{} {'a':1} [[[[[[[[1]]]]]]]] __proto__ constructor output.__proto__ output.constructor ` +
    `output["__proto__"] this globalThis "a".constructor tools[999] tools[-1] ` +
    `output.text.matches('(a+)+$') timestamp('x') duration('1s') type(1) dyn(1) bytes('a') ` +
    `now() eval('1') import('a') process.env Deno fetch('http://x')`,
);

const OPERATORS = words("+ - * / % == != < >= && || in ? . |");

const TOKENS = words(
  `( ) [ ] { } . , ? : ! - && || == ' " \` \\ // \0 \n \ud800 \u202e 💡 \ufeff all has a 1 ` +
    `1. .5 e9 cost_usd tools`,
);

type Family = (random: Random) => string;

const nest = (open: string, close: string, inside: string, depth: number) =>
  open.repeat(depth) + inside + close.repeat(depth);

function loops(random: Random, depth: number): string {
  const [list, name] = [random.pick(LISTS), `x${depth}`];
  const inside = depth === 0 ? random.pick(["true", "false", "1 == 2"]) : loops(random, depth - 1);
  return `${list}.${
    random.pick(["all", "exists", "filter", "map", "exists_one"])
  }(${name}, ${inside})`;
}

function tree(random: Random, depth: number): string {
  if (depth === 0) return random.pick(LEAVES);
  const [left, right] = [tree(random, depth - 1), tree(random, random.int(0, depth - 1))];
  return random.chance(1 / 5)
    ? `(${left}) ? (${right}) : (${left})`
    : `(${left}) ${random.pick(OPERATORS)} (${right})`;
}

const FAMILIES: readonly Family[] = [
  (random) => `finds(${random.pick(TEXTS)}, "${random.pick(PATTERNS)}")`,
  (random) => `tools.all(t, !finds(${random.pick(TEXTS)}, "${random.pick(PATTERNS)}"))`,
  (random) => `finds("${"a".repeat(random.int(0, 800))}", "${random.pick(PATTERNS)}")`,
  (random) => `finds(output.text, ${random.pick(["goal", "output.text", "1", "status + status"])})`,
  (random) => loops(random, random.int(0, 4)),
  (random) => `size(${loops(random, random.int(0, 2))}) >= 0`,
  (random) => nest("(", ")", "true", random.int(1, 498)),
  (random) => nest("[", "]", "1", random.int(1, 498)) + " == []",
  (random) => `${random.pick(["!", "-"]).repeat(random.int(1, 900))}true`,
  (random) =>
    Array.from({ length: random.int(2, 200) }, () => random.pick(["true", "1==1"])).join(" && "),
  (random) =>
    `size(${Array.from({ length: random.int(2, 80) }, () => "output.text").join(" + ")}) > 0`,
  (random) =>
    `output${random.pick(["[0]", ".a", ".text", '["list"]']).repeat(random.int(1, 100))} == 1`,
  (random) => `${"true ? ".repeat(random.int(1, 100))}true${" : false".repeat(random.int(1, 100))}`,
  (random) => `[${"1,".repeat(random.int(1, 480))}1] == output.list`,
  (random) =>
    `output.list == output.list ${"&& output.list == output.list ".repeat(random.int(0, 30))}`,
  (random) =>
    `tools.all(t, t.input == tools[${random.int(0, 300)}].input && output.list == output.list)`,
  (random) => `tools.map(t, output.text + t.name).all(x, size(x + x) > ${random.int(0, 9)})`,
  (random) =>
    `words(output.words) ${random.pick([">", "<"])} words(output.text) + ${random.int(0, 9)}`,
  (random) => `output.list.all(i, output.list.exists(k, k.id == i.id + ${random.int(0, 9)}))`,
  (random) => `output.list.exists(i, i.text.contains(output.text + "${random.int(0, 99)}"))`,
  (random) => `longest_repeat.times > ${random.int(0, 9)} || ${tree(random, 1)} == 1`,
  (random) => tree(random, random.int(1, 4)),
  (random) => `${tree(random, random.int(1, 2))} == ${tree(random, 1)}`,
  (random) =>
    Array.from({ length: random.int(1, 120) }, () => random.pick(TOKENS)).join(
      random.pick(["", " "]),
    ),
];

/** Returns expressions of all families in turn. */
export function hostileExpressions(random: Random, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const family = FAMILIES[n % FAMILIES.length] as Family;
    return family(random).slice(0, CHARS_MAX) || " ";
  });
}
