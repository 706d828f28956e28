/**
 * Lint rules of the architecture, for violations that are easy to miss.
 *
 * - `runledger/layers`: which layers a layer may import; see `docs/ARCHITECTURE.md`.
 * - `runledger/pure-domain`: `domain/` uses no clock, randomness, network or runtime.
 */

const ROOT = new URL("..", import.meta.url).pathname;

/** Allowed imports of each top folder: folders of the project, and packages. */
const MAY_IMPORT: Record<
  string,
  { readonly folders: readonly string[]; readonly packages: RegExp }
> = {
  domain: {
    folders: ["domain"],
    packages: /^(zod|croner|cronstrue|ipaddr\.js|@marcbachmann\/cel-js|re2js)$/,
  },
  runtime: { folders: ["runtime", "domain"], packages: /^(node:|lru-cache$)/ },
  kv: { folders: ["kv", "domain", "runtime"], packages: /^(node:|lru-cache$|@std\/ulid$)/ },
  routes: {
    folders: ["routes", "domain", "runtime"],
    packages: /^(node:|zod$|@std\/http$|hono(\/|$)|htmx\.org\/|markdown-it$)/,
  },
  jobs: { folders: ["jobs", "domain", "runtime"], packages: /^node:/ },
};

/** Globals that make a function impure. */
const IMPURE_GLOBALS = new Set([
  "Deno",
  "fetch",
  "crypto",
  "performance",
  "setTimeout",
  "setInterval",
]);
const IMPURE_CALLS = new Set(["Date.now", "Math.random"]);

const plugin: Deno.lint.Plugin = {
  name: "runledger",
  rules: {
    "layers": {
      create(context) {
        const folder = folderOf(context.filename);
        const allowed = MAY_IMPORT[folder];
        if (allowed === undefined) return {};
        const check = (node: Deno.lint.Node, source: string): void => {
          const target = source.startsWith(".")
            ? folderOf(new URL(source, `file://${context.filename}`).pathname)
            : null;
          const isAllowed = target === null
            ? allowed.packages.test(source)
            : allowed.folders.includes(target);
          if (isAllowed) return;
          const message = `${folder}/ may not import "${source}"`;
          context.report({ node, message, hint: "See the layers in docs/ARCHITECTURE.md" });
        };
        return {
          ImportDeclaration: (node) => check(node, node.source.value),
          ExportNamedDeclaration: (node) => node.source && check(node, node.source.value),
          ExportAllDeclaration: (node) => check(node, node.source.value),
        };
      },
    },
    "pure-domain": {
      create(context) {
        if (folderOf(context.filename) !== "domain") return {};
        const report = (node: Deno.lint.Node, argument: string): void =>
          context.report({ node, message: `domain/ is pure: pass ${argument} in as an argument` });
        return {
          MemberExpression(node) {
            const { object, property } = node;
            if (object.type !== "Identifier") return;
            const name = property.type === "Identifier" ? `${object.name}.${property.name}` : "";
            if (IMPURE_CALLS.has(name)) report(node, name);
            else if (IMPURE_GLOBALS.has(object.name)) report(node, object.name);
          },
          CallExpression({ callee }) {
            if (callee.type === "Identifier" && IMPURE_GLOBALS.has(callee.name)) {
              report(callee, callee.name);
            }
          },
          NewExpression(node) {
            const isDate = node.callee.type === "Identifier" && node.callee.name === "Date";
            if (isDate && node.arguments.length === 0) report(node, "the time");
          },
        };
      },
    },
  },
};
export default plugin;

/** Returns the top folder of a file in the project; "" for a file at the root. */
function folderOf(path: string): string {
  const [folder = "", ...subpath] = path.slice(ROOT.length).split("/");
  return subpath.length > 0 ? folder : "";
}
