/**
 * Renders Markdown of strangers. The parser's tokens become elements of a fixed list, so no HTML of
 * the text, no image and no attribute but a checked link target can be in the page.
 */
import MarkdownIt from "markdown-it";
import type { Child } from "hono/jsx";
import { Wide } from "./elements.tsx";

/** Maximum depth of blocks and marks. */
const DEPTH_MAX = 20;

/** Maximum cells of tables: the parser completes each row to all columns. */
const CELLS_MAX = 2_000;

const parser = new MarkdownIt("commonmark", { html: false, maxNesting: DEPTH_MAX })
  .enable(["table", "strikethrough"]);

/** Part of a parsed text. */
type Token = ReturnType<typeof parser.parse>[number];

/** Renders a text of bounded length as Markdown; one with large tables stays text. */
export function Markdown({ text }: { readonly text: string }) {
  return mayHaveCells(text) > CELLS_MAX
    ? <pre class="text" tabindex={0}>{text}</pre>
    : <div class="md">{elementsOf(parser.parse(text, {}))}</div>;
}

/** Returns the text of Markdown on one line, without its marks. */
export function plainText(text: string): string {
  const texts = (tokens: readonly Token[]): string[] =>
    tokens.map(({ type, content, children }) =>
      type === "inline" ? texts(children ?? []).join("") : type === "softbreak" ? " " : content
    );
  return texts(parser.parse(text, {})).filter(Boolean).join(" ");
}

/** Returns the maximum number of cells that tables of a text may have. */
function mayHaveCells(text: string): number {
  const lines = text.split("\n");
  return lines.length * lines.reduce((most, line) => Math.max(most, line.split("|").length - 1), 0);
}

/** Converts tokens to elements: each element joins the one that is open when it ends. */
function elementsOf(tokens: readonly Token[]): Child[] {
  const result: Child[] = [];
  const open: { readonly token: Token; readonly children: Child[] }[] = [];
  for (const token of tokens) {
    if (token.nesting === 1) {
      open.push({ token, children: [] });
      continue;
    }
    const ended = token.nesting === -1 ? open.pop() : undefined;
    const parent = open.at(-1)?.children ?? result;
    parent.push(
      ended === undefined
        ? LEAVES[token.type]?.(token) ?? token.content
        : elementOf(ended.token, ended.children),
    );
  }
  return result;
}

/** Tokens without an end; the others are texts. */
const LEAVES: Readonly<Record<string, (token: Token) => Child>> = {
  inline: ({ children }) => elementsOf(children ?? []),
  softbreak: () => "\n",
  hardbreak: () => <br />,
  hr: () => <hr />,
  code_inline: ({ content }) => <code>{content}</code>,
  code_block: ({ content }) => <pre tabindex={0}>{content}</pre>,
  fence: ({ content }) => <pre tabindex={0}>{content}</pre>,
  image: ({ content }) => `[image: ${content}]`,
};

/** Elements without attributes. */
const PLAIN = [
  ...["p", "em", "strong", "s", "blockquote", "ul", "li"] as const,
  ...["thead", "tbody", "tr", "td"] as const,
];

function elementOf(token: Token, children: Child[]): Child {
  if (token.hidden) return children;
  const Plain = PLAIN.find((tag) => tag === token.tag);
  if (Plain !== undefined) return <Plain>{children}</Plain>;
  // A heading of a stranger is not one of the page.
  if (/^h\d$/.test(token.tag)) return <p class="md-head">{children}</p>;
  if (token.tag === "a") return linkOf(`${token.attrGet("href")}`, children);
  if (token.tag === "ol") return <ol start={Number(token.attrGet("start") ?? 1)}>{children}</ol>;
  if (token.tag === "th") return <th scope="col">{children}</th>;
  const table = <table>{children}</table>;
  return token.tag === "table" ? <Wide label="Table">{table}</Wide> : children;
}

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** Links to absolute addresses only: a relative one would lead to a page of this service. */
function linkOf(href: string, children: Child[]): Child {
  const url = URL.parse(href);
  if (url === null || !SCHEMES.has(url.protocol)) return children;
  return <a href={url.href} rel="noopener noreferrer nofollow">{children}</a>;
}
