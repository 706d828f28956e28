/** Lint rule `runledger/pure-domain`: `domain/` uses no clock, randomness, network or runtime. */

const DOMAIN = new URL("../domain/", import.meta.url).pathname;

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
    "pure-domain": {
      create(context) {
        if (!context.filename.startsWith(DOMAIN)) return {};
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
