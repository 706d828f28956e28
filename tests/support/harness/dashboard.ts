/** Reads the dashboard without a browser: a session, its pages and its forms. */
import { assertEquals } from "@std/assert";
import type { AppDeps, Route } from "../../../routes/http/context.ts";
import { createDashboard } from "../../../routes/dashboard/dashboard.ts";
import { Memory } from "../../../runtime/memory.ts";
import { Admission, type HandlerDeps } from "../../../routes/http/admission.ts";
import { type Answer, Harness } from "./harness.ts";

/** Returns the routes of a dashboard with an operator. Building them calls none of the handlers' dependencies. */
export function dashboardRoutes(): readonly Route[] {
  const shuttingDown = new AbortController().signal;
  const limits = { memory: new Memory(), silentMsMax: Infinity };
  const deps = { ...limits, shuttingDown, draining: () => false } as Partial<AppDeps>;
  const admission = new Admission(deps as AppDeps);
  return createDashboard({ ...deps, admission, hasOperator: true } as HandlerDeps).routes;
}

/** Fields of a form; a list may name one several times. */
export type FormFields = Record<string, string> | [name: string, value: string][];

/** A session of the dashboard. */
export interface Reader {
  readonly cookie: string;
  get(path: string): Promise<Answer>;
  /** Returns the text of a page, which must exist. */
  words(path: string): Promise<string>;
  /** Sends a form as the service's page would, without following redirects. */
  send(path: string, fields?: FormFields): Promise<Answer>;
}

/** Signs in with a key, the first team's by default. */
export async function signedIn(h: Harness, key = h.key): Promise<Reader> {
  const answer = await submit(h, "/dashboard/sign-in", { key });
  assertEquals(answer.status, 303, answer.text);
  const cookie = (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  const get = (path: string) =>
    h.get(path, { key: null, headers: { Cookie: cookie }, redirect: "manual" });
  return {
    cookie,
    get,
    async words(path) {
      const { status, text } = await get(path);
      assertEquals(status, 200, text);
      return textOf(text);
    },
    send: (path, fields = {}) => submit(h, path, fields, { Cookie: cookie }),
  };
}

/** Sends a form with the headers that a browser adds; empty `headers` are omitted. */
export function submit(
  h: Harness,
  path: string,
  fields: FormFields,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return h.request("POST", path, {
    key: null,
    headers: Object.fromEntries(
      Object.entries({
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": new URL(h.url).origin,
        "Sec-Fetch-Site": "same-origin",
        ...headers,
      }).filter(([, value]) => value !== ""),
    ),
    body: new URLSearchParams(fields).toString(),
    redirect: "manual",
  });
}

/** Returns a page's text without markup, with spaces between elements. */
export function textOf(html: string): string {
  return html.replace(/<(script|style)\b[\s\S]*?<\/\1>/g, "")
    // Digits after the cent belong to their amount.
    .replace(/<span class="sub">(\d+)<\/span>/g, "$1").replace(/<[^>]+>/g, " ")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&").replace(/\s+/g, " ").trim();
}

/** Returns the texts of the rows of a page's first table. */
export function rowsOf(html: string): string[] {
  const [, body = ""] = /<tbody>([\s\S]*?)<\/tbody>/.exec(html) ?? [];
  return [...body.matchAll(/<tr>[\s\S]*?<\/tr>/g)].map(([row]) => textOf(row));
}

/** Returns the secret that a page shows once. */
export function secretIn(html: string): string {
  return /<pre id="secret"[^>]*>([^<]+)</.exec(html)?.[1] ?? "";
}

/** Reads a list from a page to its last one; returns its pages. */
export async function walk(reader: Reader, from: string): Promise<string[]> {
  const pages: string[] = [];
  for (let path: string | undefined = from; path !== undefined;) {
    const { status, text }: Answer = await reader.get(path);
    assertEquals(status, 200, text);
    pages.push(text);
    [path] = hrefsOf(text, 'rel="next"');
  }
  return pages;
}

/** Changes fields of a form; each change replaces all values of its name. */
export function changed(fields: FormFields, changes: Record<string, string>): [string, string][] {
  const all = Array.isArray(fields) ? fields : Object.entries(fields);
  return [...all.filter(([name]) => !(name in changes)), ...Object.entries(changes)];
}

/** An input, or a select or text area with its content. */
const FIELDS = /<input\b[^>]*>|<(select|textarea)\b[^>]*>([\s\S]*?)<\/\1>/g;

/** Returns the fields that a browser sends of a page's form, by the form's action. */
export function fieldsOf(html: string, action: string): [name: string, value: string][] {
  const form = new RegExp(`<form[^>]*action="${action}"[\\s\\S]*?</form>`).exec(html)?.[0] ?? "";
  const valueOf = (tag: string, name: string) =>
    new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll("&amp;", "&");
  return [...form.matchAll(FIELDS)].flatMap(([tag, kind, content = ""]) => {
    const name = valueOf(tag, "name");
    const isBox = /type="(?:checkbox|radio)"/.test(tag);
    if (name === undefined || isBox && !/\schecked/.test(tag)) return [];
    const option = /<option[^>]*\sselected[^>]*>/.exec(content) ?? /<option[^>]*>/.exec(content);
    const value = kind === "textarea" ? content : valueOf(option?.[0] ?? tag, "value");
    return [[name, value ?? ""] as [string, string]];
  });
}

/**
 * Returns the targets of a page's links, in its order.
 *
 * @param marked text that a link's tag must contain
 */
export function hrefsOf(html: string, marked = ""): string[] {
  return [...html.matchAll(/<a\b[^>]*>/g)].map(([tag]) => tag)
    .filter((tag) => tag.includes(marked))
    .flatMap((tag) => /\shref="([^"]*)"/.exec(tag)?.[1]?.replaceAll("&amp;", "&") ?? []);
}

/** Declares tests of a service and of a session of its first key. */
export const session = {
  test(name: string, body: (opened: { h: Harness; reader: Reader }) => Promise<void>) {
    Harness.test(name, async (h) => body({ h, reader: await signedIn(h) }));
  },
};
