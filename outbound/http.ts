/**
 * Sends HTTP requests to addresses that teams chose, and to models.
 *
 * The addresses of a host are read once and checked, and one of these is connected to: the host cannot
 * change them in between. It follows no redirect and uses no proxy. One deadline covers everything.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import { connect, type ConnectionOptions } from "node:tls";
import {
  type Address,
  contains,
  isPublic,
  needsNetwork,
  type Network,
  parseAddress,
  parseNetwork,
} from "../domain/channels/channel.ts";
import type { EgressPolicy } from "../domain/channels/sender.ts";

import http from "node:http";

/** Returns the addresses of a host name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Outcome of a request. */
export type PostOutcome =
  /** It was answered, with the first bytes of the body. */
  | {
    readonly kind: "answered";
    readonly status: number;
    /** Returns a header of the answer; null without it. */
    header(name: string): string | null;
    readonly text: string;
    /** True if the host has public addresses alone. */
    readonly isPublic: boolean;
  }
  /** The policy refused it, and nothing was sent. */
  | { readonly kind: "refused"; readonly rule: string }
  /** It was not answered. `reason` names no address. */
  | {
    readonly kind: "failed";
    readonly reason: string;
    /** False if no server can have received it. */
    readonly mayBeSent: boolean;
  }
  /** It can never be sent. */
  | { readonly kind: "invalid"; readonly reason: string };

export interface PostDeps {
  readonly egress: Egress;
  readonly resolve: Resolve;
  /** Certificates of authorities to trust instead of the runtime's; absent for these. */
  readonly authorities?: string;
  /** Maximum bytes of an answer that are read; {@link ANSWER_BYTES_MAX} when absent. */
  readonly answerBytesMax?: number;
}

/** Sends a request. Never rejects. */
export type Post = (request: PostRequest, signal: AbortSignal) => Promise<PostOutcome>;

/** Maximum bytes of an answer that are read, with its heads and the lengths of its chunks. */
const ANSWER_BYTES_MAX = 65_536;

/** Maximum addresses of a host that are tried. */
const ADDRESSES_MAX = 4;

/** Reads the addresses of a host name as the system does. */
export const resolveHost: Resolve = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** Creates the function that sends. The signal ends each step, also the search for addresses. */
export function createPost(deps: PostDeps): Post {
  return async (request, signal) => {
    try {
      return await post(deps, request, signal);
    } catch (error) {
      const { code = "" } = error as Error & { readonly code?: string };
      return { kind: "failed", reason: reasonOf(error, signal), mayBeSent: !UNSENT.has(code) };
    }
  };
}

async function post(
  { egress, resolve, authorities, answerBytesMax = ANSWER_BYTES_MAX }: PostDeps,
  { url: text, headers, body }: PostRequest,
  signal: AbortSignal,
): Promise<PostOutcome> {
  const rule = egress.refusal(text);
  if (rule !== null) return { kind: "refused", rule };
  const invalid = invalidHeader(headers);
  if (invalid !== null) return { kind: "invalid", reason: `The header ${invalid} is not valid` };
  const url = new URL(text);
  const host = hostOf(url);
  const isLiteral = parseAddress(host) !== null;
  const addresses = isLiteral ? [host] : await unlessAborted(signal, resolve(host));
  const refusals = addresses.map((address) => egress.addressRefusal(url, address));
  const refused = refusals.find((refusal) => refusal !== null) ?? null;
  if (refused !== null) return { kind: "refused", rule: refused };
  if (addresses.length === 0) {
    return { kind: "failed", reason: REASONS.ENOTFOUND ?? "", mayBeSent: false };
  }
  const bytes = new TextEncoder().encode(body);
  const options = {
    host,
    port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method: "POST",
    headers: { ...headers, host: url.host, "content-length": bytes.length, connection: "close" },
    lookup: lookupOf(addresses.slice(0, ADDRESSES_MAX)),
  };
  const parsed = addresses.map(parseAddress);
  const isPublicHost = parsed.every((address) => address !== null && isPublic(address));
  const sending = requestOf(url, options, authorities);
  const answer = await answerOf(sending, bytes, signal, answerBytesMax);
  return { ...answer, isPublic: isPublicHost };
}

/** Creates a request. Its agent is used once; an empty `proxyEnv` turns proxy variables off. */
function requestOf(
  url: URL,
  options: http.RequestOptions,
  authorities: string | undefined,
): http.ClientRequest {
  const direct = { keepAlive: false, proxyEnv: {} };
  const agent = new http.Agent(direct);
  if (url.protocol === "https:") {
    // The runtime's agent for https reads the system's certificates, which needs a permission.
    agent.createConnection = ({ host, port, lookup }) =>
      connect({
        host,
        port,
        lookup,
        servername: parseAddress(hostOf(url)) === null ? hostOf(url) : "",
        ...(authorities === undefined ? {} : { ca: authorities }),
      } as ConnectionOptions);
  }
  return http.request({ ...options, agent });
}

/** Returns a lookup that answers with checked addresses. */
function lookupOf(addresses: readonly string[]): NonNullable<http.RequestOptions["lookup"]> {
  const records = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const [first] = records;
  return (_, options, done) => {
    if (options.all) done(null, records);
    else done(null, first?.address ?? "", first?.family ?? 4);
  };
}

/** Sends the body and reads the answer: its status counts, also if its body is not complete. */
function answerOf(
  request: http.ClientRequest,
  body: Uint8Array,
  signal: AbortSignal,
  bytesMax: number,
): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const parts: Uint8Array[] = [];
  let size = 0;
  let answer: http.IncomingMessage | null = null;
  const end = () => {
    if (answer === null) reject(signal.aborted ? signal.reason : new Error("closed"));
    else resolve(answered(answer, parts));
  };
  request.on("error", (error) => answer === null ? reject(error) : end());
  request.on("close", end);
  // Without a listener the runtime waits for the end of the connection.
  request.on("upgrade", (_, socket) => socket.destroy());
  // The socket's bytes are counted: endless interim answers and chunks have no body.
  request.on("socket", (socket) =>
    socket.on("data", (part: Uint8Array) => {
      size += part.length;
      if (size < bytesMax) return;
      // Emits the part of the body that is there.
      answer?.read();
      end();
    }));
  request.on("response", (incoming) => {
    answer = incoming;
    answer.on("data", (part: Uint8Array) => parts.push(part));
    for (const event of ["end", "error", "aborted", "close"]) answer.on(event, end);
  });
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  else request.end(body);
  return promise.finally(() => {
    signal.removeEventListener("abort", end);
    request.destroy();
  });
}

/** An answer, without what its address says. */
type Answered = Omit<Extract<PostOutcome, { readonly kind: "answered" }>, "isPublic">;

function answered(
  { statusCode = 0, headers }: http.IncomingMessage,
  parts: readonly Uint8Array[],
): Answered {
  return {
    kind: "answered",
    status: statusCode,
    header: (name) => [headers[name] ?? null].flat()[0] ?? null,
    text: new TextDecoder().decode(Buffer.concat(parts)),
  };
}

/** Returns the name of a header that cannot be sent; null for none. */
function invalidHeader(headers: Readonly<Record<string, string>>): string | null {
  const isValid = ([name, value]: [string, string]) =>
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
  const invalid = Object.entries(headers).find((header) => !isValid(header));
  return invalid === undefined ? null : JSON.stringify(invalid[0]);
}

/**
 * Waits for `work`, but not beyond an abort signal.
 *
 * @param reason returns the error of an abort; the signal's own by default
 */
export function unlessAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  reason: () => unknown = () => signal.reason,
): Promise<T> {
  // If the abort wins, a later rejection of `work` must not count as unhandled.
  work.catch(() => {});
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(reason());
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

/** Words for errors of the runtime, whose messages contain addresses. */
const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: "The host name has no address",
  EAI_AGAIN: "The host name could not be looked up",
  ECONNREFUSED: "The connection was refused",
  ECONNRESET: "The connection was closed before an answer",
  EPIPE: "The connection was closed before an answer",
  ETIMEDOUT: "The connection timed out",
  EHOSTUNREACH: "The host cannot be reached",
  ENETUNREACH: "The network cannot be reached",
  ERR_TLS_CERT_ALTNAME_INVALID: "The TLS certificate is for another host name",
};

/** Errors of connections that were never open. */
const UNSENT: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) {
    const isLate = (signal.reason as Error | undefined)?.name === "TimeoutError";
    return isLate ? "No answer within the time limit" : "The attempt was cancelled";
  }
  const { code = "", message = "" } = error as Error & { code?: string };
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (/certificate|CERT|SSL|TLS/i.test(`${code} ${message}`)) {
    return "The TLS certificate or connection is not valid";
  }
  if (/^(HPE_|ERR_HTTP)/.test(code)) return "The answer is not valid HTTP";
  return message === "closed" || /hang up|reset|closed/.test(message)
    ? "The connection was closed before an answer"
    : "The connection failed";
}

/** The policy, with the rule for the addresses of a host name. */
export interface Egress extends EgressPolicy {
  /**
   * Returns the rule that refuses to call a URL at one of the addresses of its host; null if none
   * does.
   */
  addressRefusal(url: URL, address: string): string | null;
}

/** Ports of public addresses. */
const PUBLIC_PORTS: ReadonlySet<string> = new Set(["", "443", "8443"]);

/** Host names that no public server has. Names without a dot are such names too. */
const LOCAL_NAME = /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;

const HOST_NAME = /^(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/** Reasons of refusals. */
const REFUSALS = {
  url: "the URL is not valid",
  scheme: "URLs begin with https:// or http://",
  userinfo: "URLs contain no user and password: use a header",
  none: "RUNLEDGER_EGRESS is none",
  public: "public addresses need https:// and port 443 or 8443",
  local: "the host is private, reserved or serves metadata, and RUNLEDGER_EGRESS does not list it",
  unlisted: "RUNLEDGER_EGRESS does not list the host",
} as const;

/** The setting, parsed. */
interface Rules {
  readonly isPublicAllowed: boolean;
  /** Host names and addresses, as `host` or `host:port`. */
  readonly hosts: ReadonlySet<string>;
  readonly networks: readonly Network[];
}

/**
 * Parses `RUNLEDGER_EGRESS`: `none`, or a list of `public`, host names, `host:port` and networks such
 * as `10.0.0.0/8`, separated by commas. Returns null for any other text.
 */
export function parseEgress(text: string): Egress | null {
  const items = text.split(",").map((item) => item.trim().toLowerCase());
  if (items.length === 1 && items[0] === "none") return NO_EGRESS;
  const networks: Network[] = [];
  const hosts = new Set<string>();
  for (const item of items) {
    if (item === "public") continue;
    const network = parseNetwork(item);
    const host = network === null ? parseHost(item) : null;
    if (network !== null) networks.push(network);
    else if (host !== null) hosts.add(host);
    else return null;
  }
  return egressOf({ isPublicAllowed: items.includes("public"), hosts, networks });
}

/**
 * Parses `host` or `host:port`; IPv6 addresses are in brackets before a port. Returns its one form. A
 * name without a dot needs a port, except `localhost`: others are mistakes, such as `private`.
 */
function parseHost(item: string): string | null {
  const plain = parseAddress(item);
  if (plain !== null) return plain.toString();
  const [, bracketed, name = "", port] = /^(?:\[(.+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(item) ??
    [];
  const host = parseAddress(bracketed ?? name)?.toString() ?? withoutDot(name);
  const isHost = parseAddress(host) !== null ||
    // The last label of a name has a letter: `1.2.3` and `0x7f.1` are mistyped addresses.
    (HOST_NAME.test(host) && /[a-z]/.test(host.slice(host.lastIndexOf(".") + 1)) &&
      !["public", "none"].includes(host) && new URL(`http://${host}`).hostname === host);
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  const isWord = port === undefined && /^[^.:]+$/.test(host) && host !== "localhost";
  if (!isHost || !isPort || isWord) return null;
  return port === undefined ? host : `${host}:${Number(port)}`;
}

/** Refuses everything. */
export const NO_EGRESS: Egress = egressOf(null);

/** Creates the policy; without rules it refuses everything. */
function egressOf(rules: Rules | null): Egress {
  return {
    refusal(text) {
      const url = URL.canParse(text) ? new URL(text) : null;
      if (url === null) return REFUSALS.url;
      if (url.protocol !== "https:" && url.protocol !== "http:") return REFUSALS.scheme;
      if (url.username !== "" || url.password !== "") return REFUSALS.userinfo;
      if (rules === null) return REFUSALS.none;
      const address = parseAddress(hostOf(url));
      return address === null ? nameRefusal(rules, url) : refusalAt(rules, url, address);
    },
    addressRefusal(url, text) {
      if (rules === null) return REFUSALS.none;
      const address = parseAddress(text);
      return address === null ? REFUSALS.local : refusalAt(rules, url, address);
    },
  };
}

/** Judges a host name before its addresses are known. */
function nameRefusal(rules: Rules, url: URL): string | null {
  // Its addresses may be in a listed network.
  if (isListed(rules, url) || rules.networks.length > 0) return null;
  const host = hostOf(url);
  if (!host.includes(".") || LOCAL_NAME.test(host)) return REFUSALS.local;
  return rules.isPublicAllowed ? publicRefusal(url) : REFUSALS.unlisted;
}

/** Judges one address of a URL's host, which may be the host itself. */
function refusalAt(rules: Rules, url: URL, address: Address): string | null {
  if (rules.networks.some((network) => contains(network, address))) return null;
  if (isListed(rules, url) && !needsNetwork(address)) return null;
  if (!isPublic(address)) return REFUSALS.local;
  return rules.isPublicAllowed ? publicRefusal(url) : REFUSALS.unlisted;
}

function publicRefusal(url: URL): string | null {
  const isAllowed = url.protocol === "https:" && PUBLIC_PORTS.has(url.port);
  return isAllowed ? null : REFUSALS.public;
}

function isListed({ hosts }: Rules, url: URL): boolean {
  const host = hostOf(url);
  const port = url.port !== "" ? url.port : url.protocol === "https:" ? "443" : "80";
  return hosts.has(host) || hosts.has(`${host}:${port}`);
}

/** Returns the host of a URL, without brackets and without the dot at the end of a complete name. */
export function hostOf({ hostname }: URL): string {
  const bracketed = /^\[(.*)\]$/.exec(hostname)?.[1];
  return parseAddress(bracketed ?? "")?.toString() ?? withoutDot(hostname);
}

function withoutDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
