/**
 * Decides which addresses channels may call (decision 54).
 *
 * A URL is judged twice: by its text, when a channel is stored, and by each address of its host, when
 * it is called. Refusals name the rule, never an address: that would show what the network is like.
 *
 * @module
 */
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
