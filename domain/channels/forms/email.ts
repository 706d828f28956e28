/**
 * The e-mail about incidents, as text and HTML.
 *
 * @module
 */
import type { Mail } from "../../core/mail.ts";
import type { Message } from "../message.ts";
import { type FormContext, plainText, TEXT_CHARS_MAX, type Words, wordsOf } from "./words.ts";

/** Maximum characters of a subject. */
const SUBJECT_CHARS_MAX = 200;

/** Returns whether an address can be a recipient: one address alone, without characters of syntax. */
export function isRecipient(address: string): boolean {
  return address.length <= 254 &&
    /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@]+$/u.test(address);
}

/**
 * Returns the e-mail for messages. Those about the same incident are one thread.
 *
 * @param id identifier of the first delivery, which mail programs drop repeats by
 */
export function emailOf(
  messages: readonly Message[],
  id: string,
  to: readonly string[],
  context: FormContext,
): Mail {
  const all = messages.map((message) => ({ message, words: wordsOf(message, context) }));
  const team = plainText(context.team.name, TEXT_CHARS_MAX.name);
  return {
    to,
    subject: subjectOf(all),
    text: [...all.map(({ words }) => textOf(words)), footerOf(team)].join("\n\n"),
    html: htmlOf(all.map(({ words }) => words), team),
    messageId: `${id}@runledger`,
    references: [...new Set(messages.flatMap(({ incident }) => incident?.id ?? []))]
      .map((incident) => `${incident}@runledger`),
  };
}

function footerOf(team: string): string {
  return `Sent by Runledger to a channel of team ${team}.`;
}

function subjectOf(all: readonly { message: Message; words: Words }[]): string {
  const [first] = all;
  if (first === undefined) return "Runledger";
  const { incident, event } = first.message;
  const isOpen = incident !== null && event !== "incident.resolved";
  const severity = isOpen ? ` ${incident.severity}:` : "";
  const more = all.length > 1 ? ` and ${all.length - 1} more` : "";
  const headline = plainText(first.words.headline, SUBJECT_CHARS_MAX - 50);
  return `[Runledger]${severity} ${headline}${more}`;
}

function textOf({ headline, facts, error, link }: Words): string {
  const lines = [headline, ...facts];
  if (error !== null) lines.push(`Error: ${error}`);
  if (link !== null) lines.push(link);
  return lines.join("\n");
}

function htmlOf(all: readonly Words[], team: string): string {
  const parts = all.map(({ headline, facts, error, link }) => {
    const title = link === null
      ? escaped(headline)
      : `<a href="${escaped(link)}">${escaped(headline)}</a>`;
    const lines = facts.map(escaped).join("<br>\n");
    const shown = error === null
      ? ""
      : `<pre style="white-space:pre-wrap">${escaped(error)}</pre>\n`;
    return `<h2 style="font-size:1.1em">${title}</h2>\n<p>${lines}</p>\n${shown}`;
  });
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n` +
    `<title>Runledger</title>\n<body>\n${parts.join("")}<p>${
      escaped(footerOf(team))
    }</p>\n</body>\n</html>\n`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
