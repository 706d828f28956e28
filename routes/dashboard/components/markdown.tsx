/**
 * Renders Markdown of strangers. The parser's tokens become elements of a fixed list, so no HTML of
 * the text, no image and no attribute but a checked link target can be in the page.
 */
import MarkdownIt from "markdown-it";
import type { Child } from "hono/jsx";

/** Maximum characters rendered, and the maximum depth of blocks and marks. */
const CHARS_MAX = 20_000, DEPTH_MAX = 20;

/** Maximum cells of tables: the parser completes each row to all columns. */
const CELLS_MAX = 2_000;

/** Part of a parsed text. */
interface Token {
  readonly type: string;
  readonly tag: string;
  /** 1 opens an element, -1 closes one. */
  readonly nesting: number;
  readonly content: string;
  readonly hidden: boolean;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
}

const parser = new MarkdownIt("commonmark", { html: false, maxNesting: DEPTH_MAX })
  .enable(["table", "strikethrough"]);

/** Renders a text as Markdown; beyond its limit, only the beginning. Large tables stay text. */
export function Markdown({ text }: { readonly text: string }) {
  if (mayHaveCells(text) > CELLS_MAX) return <pre class="text" tabindex={0}>{text}</pre>;
  const shown = text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX).toWellFormed()}…` : text;
  const tokens = parser.parse(shown, {}) as readonly Token[];
  return <div class="md">{elementsOf(tokens)}</div>;
}

/** Returns the text of Markdown on one line, without its marks. */
export function plainText(text: string): string {
  const texts = (tokens: readonly Token[]): string[] =>
    tokens.map(({ type, content, children }) =>
      type === "inline" ? texts(children ?? []).join("") : type === "softbreak" ? " " : content
    );
  return texts(parser.parse(text, {}) as readonly Token[]).filter(Boolean).join(" ");
}

/** Returns the maximum number of cells that tables of a text may have. */
function mayHaveCells(text: string): number {
  const lines = text.split("\n");
  return lines.length * lines.reduce((most, line) => Math.max(most, line.split("|").length - 1), 0);
}

/** An element whose end is not reached. */
interface OpenElement {
  readonly token: Token | null;
  readonly children: Child[];
}

function elementsOf(tokens: readonly Token[]): Child[] {
  const open: OpenElement[] = [{ token: null, children: [] }];
  const add = (child: Child) => open.at(-1)?.children.push(child);
  for (const token of tokens) {
    if (token.nesting === 1) open.push({ token, children: [] });
    else if (token.nesting === -1) {
      const { token: opened, children } = open.pop() as OpenElement;
      add(opened === null ? children : elementOf(opened, children));
    } else add(leafOf(token));
  }
  return open.flatMap(({ children }) => children);
}

function leafOf({ type, content, children }: Token): Child {
  switch (type) {
    case "inline":
      return elementsOf(children ?? []);
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br />;
    case "hr":
      return <hr />;
    case "code_inline":
      return <code>{content}</code>;
    case "code_block":
    case "fence":
      return <pre tabindex={0}>{content}</pre>;
    case "image":
      return `[image: ${content}]`;
    default:
      return content;
  }
}

function elementOf(token: Token, children: Child[]): Child {
  if (token.hidden) return children;
  switch (token.tag) {
    case "a":
      return linkOf(token.attrGet("href") ?? "", children);
    case "blockquote":
      return <blockquote>{children}</blockquote>;
    case "em":
      return <em>{children}</em>;
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6":
      // A heading of a stranger is not one of the page.
      return <p class="md-head">{children}</p>;
    case "li":
      return <li>{children}</li>;
    case "ol":
      return <ol start={startOf(token)}>{children}</ol>;
    case "p":
      return <p>{children}</p>;
    case "s":
      return <s>{children}</s>;
    case "strong":
      return <strong>{children}</strong>;
    case "table":
      return (
        <div class="wide" role="region" aria-label="Table" tabindex={0}>
          <table>{children}</table>
        </div>
      );
    case "tbody":
      return <tbody>{children}</tbody>;
    case "td":
      return <td>{children}</td>;
    case "th":
      return <th scope="col">{children}</th>;
    case "thead":
      return <thead>{children}</thead>;
    case "tr":
      return <tr>{children}</tr>;
    case "ul":
      return <ul>{children}</ul>;
    default:
      return children;
  }
}

function startOf(token: Token): number | undefined {
  const start = Number(token.attrGet("start") ?? 1);
  return Number.isSafeInteger(start) && start !== 1 ? start : undefined;
}

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** Links to absolute addresses only: a relative one would lead to a page of this service. */
function linkOf(href: string, children: Child[]): Child {
  const url = URL.parse(href);
  if (url === null || !SCHEMES.has(url.protocol)) return children;
  return <a href={url.href} rel="noopener noreferrer nofollow">{children}</a>;
}
