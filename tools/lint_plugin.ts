/**
 * Lint rules of the project: `runledger/pure-domain`, by which `domain/` uses no clock, randomness,
 * network or runtime, and `runledger/comment-opening`, by which a doc comment begins with a verb or
 * with the noun that it documents.
 */

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
    "comment-opening": {
      create(context) {
        return {
          Program() {
            for (const comment of context.sourceCode.getAllComments()) {
              const [, word] = /^\*[\s*]*(What|Whether|Who|How)\b/.exec(comment.value) ?? [];
              if (comment.type !== "Block" || word === undefined) continue;
              const message = `A doc comment begins with a verb or a noun, not with "${word}"`;
              context.report({ range: comment.range, message });
            }
          },
        };
      },
    },
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
