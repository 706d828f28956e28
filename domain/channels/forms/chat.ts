/**
 * The JSON body for chats: the form of Slack's incoming webhooks, which Mattermost and Discord (at its
 * `/slack` address) take too.
 *
 * The strictest of the three limits all: Discord takes 10 attachments of 6,000 characters in total.
 *
 * @module
 */
import type { Message, Severity } from "../message.ts";
import { type FormContext, type Words, wordsOf } from "./words.ts";

/** Maximum attachments. Further incidents have a line of the text each. */
const ATTACHMENTS_MAX = 10;

/** Maximum characters after escaping. */
const CHARS_MAX = { headline: 130, fact: 88, error: 100 } as const;

const COLORS: Readonly<Record<Severity | "resolved", string>> = {
  critical: "#c62828",
  warning: "#b26a00",
  info: "#1565c0",
  resolved: "#2e7d32",
};

/** Inserted where a chat would begin a mention or a link: it has no width and allows no line break. */
const JOINER = "\u2060";

/** Returns the body for messages: a text, and an attachment for each of the first ones. */
export function chatBody(messages: readonly Message[], context: FormContext): string {
  const all = messages.map((message) => ({ message, words: wordsOf(message, context) }));
  return JSON.stringify({
    text: textOf(all.map(({ words }) => words)),
    attachments: all.slice(0, ATTACHMENTS_MAX)
      .map(({ message, words }) => attachmentOf(message, words, all.length === 1)),
    mrkdwn: false,
    link_names: 0,
    unfurl_links: false,
    unfurl_media: false,
  });
}

/** Returns the text: one message's headline, or how many there are and what has no attachment. */
function textOf(all: readonly Words[]): string {
  const [only] = all;
  if (only !== undefined && all.length === 1) return chatText(only.headline, CHARS_MAX.headline);
  const more = all.slice(ATTACHMENTS_MAX)
    .map(({ headline }) => chatText(headline, CHARS_MAX.headline));
  return [`Runledger: ${all.length} messages`, ...more].join("\n");
}

function attachmentOf({ incident, event }: Message, words: Words, isOnly: boolean) {
  const severity = incident?.severity ?? "info";
  const headline = chatText(words.headline, CHARS_MAX.headline);
  const lines = words.facts.map((fact) => chatText(fact, CHARS_MAX.fact));
  if (words.error !== null) lines.push(`Error: ${chatText(words.error, CHARS_MAX.error)}`);
  return {
    fallback: headline,
    color: COLORS[event === "incident.resolved" ? "resolved" : severity],
    // The text has the headline of an only message.
    title: isOnly ? (incident === null ? "Runledger" : "Incident in Runledger") : headline,
    ...(words.link === null ? {} : { title_link: words.link }),
    text: lines.join("\n"),
    mrkdwn_in: [],
  };
}

/**
 * Escapes a plain text so that no chat reads a mention, a link or a picture from it.
 *
 * @param charsMax maximum characters after escaping
 */
export function chatText(text: string, charsMax: number): string {
  let escaped = "";
  for (const character of text) {
    const next = ESCAPES[character] ?? character;
    if (escaped.length + next.length > charsMax) return `${escaped.slice(0, charsMax)}…`;
    escaped += next;
  }
  return escaped;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "@": `@${JOINER}`,
  "]": `]${JOINER}`,
};
