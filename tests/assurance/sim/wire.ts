/** Converts the model's calls to HTTP requests, and HTTP responses to the model's form. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Answer, Fields, Labels, Request } from "./shape.ts";
import type { World, WorldResponse } from "./world.ts";

/** A response, and the id that the server gave the run. */
export interface WireAnswer extends Answer {
  readonly id: string | null;
  /** Verdict of the guard; null for none. */
  readonly guard: string | null;
}

/** Sends a call over HTTP; null if the service reports an unknown outcome. */
export async function send(world: World, request: Request): Promise<WireAnswer | null> {
  const response = request.call === "ping"
    ? await world.send("GET", `/v1/ping?${queryText(request.fields)}`, undefined, acceptOf(request))
    : await world.send("POST", pathOf(request), bodyText(request.fields));
  if (response.status === 503) {
    assertMatch(response.headers.get("Retry-After") ?? "", /^[1-5]$/);
    assertMatch(response.text, /\bstorage_unavailable\b/);
    return null;
  }
  assert(response.status < 500, `${response.status} ${response.text}`);
  return answerOf(request, response);
}

function pathOf({ call, id }: Request): string {
  if (call === "open") return "/v1/runs";
  return call === "heartbeat" ? "/v1/heartbeats" : `/v1/runs/${id}/${call}`;
}

function acceptOf({ isPlain }: Request): Record<string, string> {
  return isPlain ? {} : { Accept: "application/json" };
}

/** Serializes a body; metadata stays in its listed order. */
function bodyText(fields: Fields): string {
  const members = Object.entries(fields).filter(([, value]) => value !== undefined);
  const text = (name: string, value: unknown) =>
    name === "metadata" && Array.isArray(value) ? labelsText(value) : JSON.stringify(value);
  return `{${members.map(([name, value]) => `"${name}":${text(name, value)}`).join()}}`;
}

function labelsText(labels: Labels): string {
  return `{${labels.map((label) => label.map((part) => JSON.stringify(part)).join(":")).join()}}`;
}

function queryText(fields: Fields): string {
  const present = Object.entries(fields).filter(([, value]) => (value ?? null) !== null);
  return present.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
}

function answerOf(request: Request, { status, headers, text }: WorldResponse): WireAnswer {
  const { call, isPlain = false } = request;
  const replayed = headers.get("Idempotent-Replayed");
  assert(replayed === null || replayed === "true");
  const dropped = Object.fromEntries(
    listOf(headers.get("Runledger-Dropped")).map((each) => {
      const [, field = "", count] = /^([a-z_]+)=(\d+)$/.exec(each) ?? [];
      return [field, Number(count)];
    }),
  );
  const ignored = listOf(headers.get("Runledger-Ignored")).sort();
  const guard = headers.get("Runledger-Guard");
  const facts = { status, replayed: replayed === "true", dropped, ignored, guard };
  const isText = call === "ping" && (status >= 400 || isPlain);
  const type = isText ? "text/plain; charset=UTF-8" : "application/json";
  assertEquals(headers.get("Content-Type"), type);
  if (status >= 400) return { ...facts, body: refusalOf(call, headers, text), id: null };
  if (call !== "ping") {
    const body = JSON.parse(text);
    return { ...facts, body, id: body.id ?? null };
  }
  const id = headers.get("X-Run-Id");
  // The body says what the headers say (R24).
  const noMonitor = ["every", "cron", "tz", "grace"].some((name) => name in dropped);
  if (isPlain) {
    const notes = [
      ...ignored.length > 0 ? ["ignored .+"] : [],
      ...noMonitor ? ["no monitor: .+"] : [],
    ];
    assertMatch(text, new RegExp(`^${["OK", notes.join("\n")].join(" ").trim()}\n$`));
    return { ...facts, body: {}, id };
  }
  const { ignored: names = [], no_monitor, ...body } = JSON.parse(text);
  assertEquals([names.toSorted(), no_monitor !== undefined, body.id], [ignored, noMonitor, id]);
  return { ...facts, body, id };
}

function listOf(header: string | null): string[] {
  return header === null ? [] : header.split(", ");
}

/** Returns the code of a refusal and its field; a ping's single line has no field. */
function refusalOf(call: Request["call"], headers: Headers, text: string): Fields {
  if (call === "ping") {
    const [error = ""] = text.split(" ");
    assertMatch(text, /^\w+ .+\n$/);
    assertEquals(headers.get("X-Error-Code"), error);
    return { error };
  }
  const { message, ...body } = JSON.parse(text);
  assert(typeof message === "string" && message !== "");
  return body;
}
