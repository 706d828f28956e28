/**
 * The architecture as the folder tree shows it: each file imports only from its own folder and from those
 * before it, no files import each other in a circle, and the root holds what it is known to hold.
 */
import { assertEquals } from "@std/assert";
import { dirname, normalize } from "node:path";

const ROOT = new URL("../", import.meta.url);

/** Folders in the order of their layers. Each imports only from itself and from those it names. */
const LAYERS: Record<string, readonly string[]> = {
  domain: [],
  runtime: ["domain"],
  kv: ["domain", "runtime"],
  jobs: ["domain", "runtime"],
  outbound: ["domain", "runtime"],
  routes: ["domain", "runtime"],
  app: ["domain", "runtime", "kv", "jobs", "outbound", "routes"],
  tools: ["domain", "runtime", "kv", "jobs", "outbound", "routes", "app"],
  "main.ts": ["domain", "runtime", "kv", "jobs", "outbound", "routes", "app", "tools"],
  bench: ["domain", "runtime", "kv", "jobs", "outbound", "routes", "app", "tools", "tests"],
};

/** Folders whose types a layer may import besides, and never their code. */
const TYPES: Record<string, readonly string[]> = { jobs: ["kv"], routes: ["kv"] };

/** The project's configuration, which only this file reads: it has the version. */
const CONFIG = { from: "domain/core/version.ts", to: "deno.json" };

/** Packages that a layer may import, for layers that may not import all. */
const PACKAGES: Record<string, RegExp> = {
  domain: /^(zod|croner|cronstrue|ipaddr\.js|@marcbachmann\/cel-js|re2js)$/,
  runtime: /^(node:|lru-cache$)/,
  kv: /^(node:|lru-cache$|@std\/ulid$)/,
  routes: /^(node:|zod$|@std\/http$|@scalar\/|hono(\/|$)|htmx\.org\/|markdown-it$|pbf$)/,
  jobs: /^node:/,
};

/** Folders inside a layer, in their order; `.` stands for the files of the layer's own folder. */
const ORDER: Record<string, readonly string[]> = {
  domain: [
    "core",
    "work",
    "teams",
    "config",
    "pricing",
    "runs",
    "agents",
    "outcomes",
    "monitors",
    "channels",
    "checks",
    "judges",
    "alerts",
    "spend",
    "budgets",
    "feed",
    "refusals",
    "retention",
    "repricing",
    "ingest",
    "otlp",
  ],
  kv: [
    "base",
    "writer",
    ".",
    "index",
    "work",
    "team",
    "teams",
    "rate_cards",
    "agents",
    "monitors",
    "config",
    "channels",
    "runs",
    "spend",
    "budgets",
    "run_list",
    "feed",
    "checks",
    "judges",
    "alerts",
    "summaries",
    "refusals",
    "retention",
    "repricing",
    "integrity",
    "metrics",
    "transfer",
  ],
  routes: ["std", "http", "openapi", "docs", "otlp", "api", "dashboard", "."],
};

/** Entries of the root besides the folders of {@link LAYERS}. */
const ROOT_ENTRIES = new Set([
  ".ci",
  ".git",
  ".github",
  ".gitignore",
  "CONTRIBUTING.md",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "data",
  "deno.json",
  "deno.lock",
  "docs",
  "examples",
  "ops",
  "tests",
]);

const IMPORT = /\b(?:import|export)\b[^;"']*?(?:\bfrom\s*|\(\s*|\bimport\s*)"(\.[^"]+)"/g;
const PACKAGE = /(?:^(?:import|export|\})(?: .*)? from |^import |\bimport\()"([^".][^"]*)"/gm;

/** A file that another one imports, as a path from the root, or a package. */
interface Import {
  readonly to: string;
  /** True if only its types are imported. */
  readonly isType: boolean;
}

/** The files of a layer with what each imports. */
function importsOf(layer: string): Map<string, Import[]> {
  const imports = new Map<string, Import[]>();
  const files = layer.endsWith(".ts") ? [layer] : [...filesIn(layer)];
  for (const file of files) {
    const text = Deno.readTextFileSync(new URL(file, ROOT));
    const targets = [...text.matchAll(IMPORT)].map(([statement, target = ""]) => ({
      to: normalize(`${dirname(file)}/${target}`),
      isType: /^(?:import|export) type\b/.test(statement),
    }));
    const packages = [...text.matchAll(PACKAGE)].map(([, name = ""]) => ({
      to: `package ${name}`,
      isType: false,
    }));
    imports.set(file, [...targets, ...packages]);
  }
  return imports;
}

function* filesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(`${folder}/`, ROOT))) {
    if (isDirectory) yield* filesIn(`${folder}/${name}`);
    else if (/\.tsx?$/.test(name)) yield `${folder}/${name}`;
  }
}

function layerOf(file: string): string {
  return file.split("/")[0] ?? "";
}

/** The position of a file's folder within its layer; -1 for a folder that has no place there. */
function rankOf(file: string, order: readonly string[]): number {
  const [, ...rest] = file.split("/");
  return order.indexOf(rest.length > 1 ? rest[0] ?? "" : ".");
}

/** Says what is wrong with an import, or nothing. */
function problemOf(from: string, to: string, isType = false): string[] {
  const [layer, target] = [layerOf(from), layerOf(to)];
  if (to.startsWith("package ")) {
    const isAllowed = PACKAGES[layer]?.test(to.slice("package ".length)) ?? true;
    return isAllowed ? [] : [`${from} imports the ${to}`];
  }
  if (from === CONFIG.from && to === CONFIG.to) return [];
  if (layer !== target) {
    const allowed = [...LAYERS[layer] ?? [], ...isType ? TYPES[layer] ?? [] : []];
    return allowed.includes(target) ? [] : [`${from} imports ${to}: ${layer} may not`];
  }
  const order = ORDER[layer];
  if (order === undefined) return [];
  const [own, other] = [rankOf(from, order), rankOf(to, order)];
  if (own < 0) return [`${from}: its folder has no place in the order of ${layer}/`];
  return other <= own ? [] : [`${from} imports ${to}: that folder comes later in ${layer}/`];
}

/** Finds circles: each is the list of files that import each other in turn. */
function circlesIn(imports: ReadonlyMap<string, readonly Pick<Import, "to">[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push(path.slice(start));
    if (start >= 0 || done.has(file)) return;
    path.push(file);
    for (const { to } of imports.get(file) ?? []) visit(to);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return circles;
}

const all = new Map(Object.keys(LAYERS).flatMap((layer) => [...importsOf(layer)]));

Deno.test("architecture: each file imports only from its own folder and those before it", () => {
  const problems = [...all].flatMap(([from, imports]) =>
    imports.flatMap(({ to, isType }) => problemOf(from, to, isType))
  );
  assertEquals(problems, []);
});

Deno.test("architecture: no files import each other in a circle, types included", () => {
  assertEquals(circlesIn(all), []);
});

Deno.test("architecture: the check sees what it is to see", () => {
  assertEquals(all.size > 400, true);
  assertEquals(problemOf("domain/core/text.ts", "domain/runs/run.ts").length, 1);
  assertEquals(problemOf("domain/runs/run.ts", "domain/core/text.ts"), []);
  assertEquals(problemOf("kv/store.ts", "routes/app.ts").length, 1);
  assertEquals(problemOf("kv/store.ts", "package node:zlib"), []);
  assertEquals(problemOf("kv/store.ts", "package hono").length, 1);
  const ofZod = [...all.values()].flat().filter(({ to }) => to === "package zod");
  assertEquals(ofZod.length > 10, true);
  assertEquals(problemOf("routes/app.ts", "kv/store.ts").length, 1);
  assertEquals(problemOf("routes/app.ts", "kv/store.ts", true), []);
  assertEquals(problemOf("domain/runs/run.ts", "kv/store.ts", true).length, 1);
  const circle = { a: [{ to: "b" }], b: [{ to: "c" }], c: [{ to: "b" }] };
  assertEquals(circlesIn(new Map(Object.entries(circle))), [["b", "c"]]);
});

Deno.test("architecture: the root holds only what it is known to hold", () => {
  const names = [...Deno.readDirSync(ROOT)].map(({ name }) => name);
  assertEquals(names.filter((name) => !(name in LAYERS) && !ROOT_ENTRIES.has(name)), []);
});

Deno.test("architecture: no module of the domain keeps state between calls", () => {
  const state = /^(?:export )?(?:let |var |const .*= new (?:Weak)?(?:Map|Set)\b(?:<.*>)?\(\))/m;
  const text = (file: string) => Deno.readTextFileSync(new URL(file, ROOT));
  assertEquals([...filesIn("domain")].filter((file) => state.test(text(file))), []);
  assertEquals(
    ["let count = 0;", "const kept = new Map<string, Set<string>>();"].filter((line) =>
      !state.test(line)
    ),
    [],
  );
});

Deno.test("architecture: no file calls what the runtime does not document", () => {
  const internals = /\bDeno(?:\.internal\b|\[)|\binternal\?: symbol|__bootstrap/;
  const text = (file: string) => Deno.readTextFileSync(new URL(file, ROOT));
  assertEquals([...all.keys()].filter((file) => internals.test(text(file))), []);
});

Deno.test("architecture: only the program of the KV engine loads a native addon", () => {
  // A static import; `import()` runs only in a program.
  const addon = /\bfrom\s*"(?:[^"]*\/)?(?:@?deno[\/_]kv(?:\.ts)?|kv_engine\.ts)"/;
  const loads = (file: string) => addon.test(Deno.readTextFileSync(new URL(file, ROOT)));
  assertEquals([...filesIn("tests"), ...all.keys()].filter(loads), [
    "tests/support/fakes/kv_engine.ts",
  ]);
  const lock = JSON.parse(
    Deno.readTextFileSync(new URL("tests/packages/development.lock", ROOT)),
  ) as { npm: Record<string, { cpu?: string[] }> };
  const native = Object.keys(lock.npm).filter((name) => lock.npm[name]?.cpu !== undefined);
  assertEquals(native.filter((name) => !name.startsWith("@deno/kv-")), []);
});
