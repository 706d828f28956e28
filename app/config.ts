/**
 * Settings. This is the only reader of the environment and the command line.
 *
 * @module
 */
import { isIPv4 } from "node:net";
import { parseArgs } from "node:util";
import { z } from "zod";
import { developmentKey, isOperatorKey, isTeamKey } from "../domain/teams/credentials.ts";
import { CONNECTIONS_FORM, parseConnections } from "../domain/judges/connection.ts";
import { isLoopback } from "../domain/core/network.ts";
import { REGIONS } from "../domain/core/ids.ts";
import { TIER_NAMES } from "../domain/teams/plans.ts";
import { MEMORY_MB } from "../runtime/memory.ts";
import { VERSION } from "../domain/core/version.ts";
import { isShared, type KvLocation, parseLocation, PLATFORM_KV } from "../kv/location.ts";
import { parseSealKey, SEAL_KEY_BYTES } from "../kv/channels/seal.ts";
import { NO_EGRESS, parseEgress } from "../outbound/http.ts";
import { parseMailServer } from "../outbound/mail.ts";
import { type Platform, platformOf } from "./platform.ts";

/** Configuration of the process. */
export type Config = ReturnType<typeof toConfig>;

/** The configuration, or all problems of the settings. */
type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

const REGION = `one of ${REGIONS.join(", ")}`;
const PORT = "a port from 0 to 65535";
const HOST = "a host name or an IP address";
/** Describes the format only: the value is a secret. */
const KEY = "apk_<region>_<32 lowercase hex digits>";
const OPERATOR_KEY = "opk_<region>_<32 lowercase hex digits>";
const KV = "a path, :memory: or an http(s) URL without user and password";
const KV_URL = "an http(s) URL without user and password";
/** A URL with a password would be printed; other schemes are mistakes. */
const WRONG_KV = /^(?!https?:)\w{2,}:\/\/|^https?:\/\/[^/]*@/;
/** Ledger without `RUNLEDGER_KV`. */
export const KV_DEFAULT = "./data/runledger.kv";

/** Describes the format only: the value is a secret. */
const KV_TOKEN = "printable ASCII characters without spaces";

const EMAIL = "an e-mail address";
/** Describes the format only: the value may hold a password. */
const SMTP = "smtp://[user:password@]host[:port] or smtps://…, special characters as %XX";

const EGRESS = "none, or a list of public, host names, host:port and networks such as " +
  "10.0.0.0/8, separated by commas; a name without a dot needs its port, such as receiver:9000";
const EGRESS_DEFAULT = "public";

const PUBLIC_URL = "an http(s) URL of a host, without user, path and query";

/** Describes the format only: the value is a secret. */
const SEAL_KEY = `the base64 of ${SEAL_KEY_BYTES} random bytes`;

const MEMORY = `an integer from ${MEMORY_MB.min} to ${MEMORY_MB.max}`;

const settings = z.object({
  PORT: z.string().regex(/^\d{1,5}$/, PORT).transform(Number)
    .refine((port) => port <= 65_535, PORT).default(8000),
  HOST: z.string().regex(/^[A-Za-z0-9.:_-]+$/, HOST)
    .refine((host) => !/^(\d+\.){3}\d+$/.test(host) || isIPv4(host), HOST)
    .default("127.0.0.1"),
  RUNLEDGER_REGION: z.enum(REGIONS, REGION).optional(),
  RUNLEDGER_KV: z.string().min(1, KV).refine((text) => !WRONG_KV.test(text), KV).optional(),
  RUNLEDGER_KV_TOKEN: z.string().regex(/^[\x21-\x7e]+$/, KV_TOKEN).optional(),
  RUNLEDGER_KEY: z.string().regex(/^apk_[a-z]{2}_[0-9a-f]{32}$/, KEY).optional(),
  RUNLEDGER_OPERATOR_KEY: z.string().regex(/^opk_[a-z]{2}_[0-9a-f]{32}$/, OPERATOR_KEY).optional(),
  RUNLEDGER_OWNER_EMAIL: z.email(EMAIL).optional(),
  RUNLEDGER_SMTP_URL: z.string().refine((text) => parseMailServer(text) !== null, SMTP).optional(),
  RUNLEDGER_SMTP_FROM: z.email(EMAIL).optional(),
  RUNLEDGER_EGRESS: z.string().refine((text) => parseEgress(text) !== null, EGRESS).optional(),
  RUNLEDGER_LLM: z.string().refine((text) => parseConnections(text) !== null, CONNECTIONS_FORM)
    .optional(),
  RUNLEDGER_SEAL_KEY: z.string().refine((text) => parseSealKey(text) !== null, SEAL_KEY).optional(),
  RUNLEDGER_PUBLIC_URL: z.string().refine((text) => originOf(text) !== null, PUBLIC_URL).optional(),
  RUNLEDGER_MEMORY_MB: z.string().regex(/^\d{1,5}$/, MEMORY).transform(Number)
    .refine((mb) => mb >= MEMORY_MB.min && mb <= MEMORY_MB.max, MEMORY).optional(),
  RUNLEDGER_TIER: z.enum(TIER_NAMES, `one of ${TIER_NAMES.join(", ")}`).optional(),
});

/** Variables with which the runtime listens on another address than `HOST`. */
const ADDRESS_OVERRIDES = ["DENO_DEPLOY", "DENO_SERVE_ADDRESS"] as const;

/** Problem of a start without a key on a shared KV that has none. */
export const KEY_REQUIRED = `RUNLEDGER_KEY must be set to ${KEY}: the shared KV has no key yet, ` +
  "and none is generated there, because it would be printed";

const SENDER_REQUIRED = `RUNLEDGER_SMTP_FROM must be set to ${EMAIL}, the sender of mail: ` +
  "the user of RUNLEDGER_SMTP_URL is none";

const DEMO_REFUSED = "--demo fills a ledger with sample runs: it works only with --dev, and with " +
  "a file or :memory: as RUNLEDGER_KV";

/** Names of all settings. Each has a row in the documentation. */
export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape);

/** One-line help for each setting. */
const MEANINGS: Readonly<Record<keyof typeof settings.shape, string>> = {
  PORT: "port to listen on, 0 for a free one (default 8000)",
  HOST: "address to listen on (default 127.0.0.1)",
  RUNLEDGER_REGION: `${REGIONS.join(" or ")}: region of credentials and ids (default eu)`,
  RUNLEDGER_KV: `ledger: a path, :memory: or an http(s) URL (default ${KV_DEFAULT})`,
  RUNLEDGER_KV_TOKEN: "access token of a shared KV (default: none)",
  RUNLEDGER_KEY: `first team's key, ${KEY} (default: a new one)`,
  RUNLEDGER_OPERATOR_KEY: `operator's key, ${OPERATOR_KEY} (default: none)`,
  RUNLEDGER_OWNER_EMAIL: "address of the first team's owner (default: none)",
  RUNLEDGER_SMTP_URL: "mail server for notices and alerts, smtp:// or smtps:// (default: none)",
  RUNLEDGER_SMTP_FROM: "sender of mail (default: the user of RUNLEDGER_SMTP_URL, if an address)",
  RUNLEDGER_EGRESS: `what channels may call: ${EGRESS} (default ${EGRESS_DEFAULT})`,
  RUNLEDGER_LLM: "models of judges: NAME=BASE_URL,KEY_VARIABLE separated by spaces (default: none)",
  RUNLEDGER_SEAL_KEY: `key of channels' secrets, ${SEAL_KEY} (default: in LEDGER.seal)`,
  RUNLEDGER_PUBLIC_URL: "address of the dashboard, for links in messages (default: none)",
  RUNLEDGER_MEMORY_MB: `resident memory to aim for, ${MEMORY} (default ${MEMORY_MB.default})`,
  RUNLEDGER_TIER: `plan of the first team: ${TIER_NAMES.join(", ")} (default business)`,
};

/** Returns the lines of `--help` or `--version`; null if the command line asks for neither. */
export function helpFor(args: readonly string[]): readonly string[] | null {
  if (args.includes("--version")) return [`Runledger ${VERSION}`];
  if (!args.includes("--help") && !args.includes("-h")) return null;
  const width = Math.max(...SETTING_NAMES.map((name) => name.length));
  return [
    "deno task dev          serves http://127.0.0.1:8000 with the development key",
    "deno task dev --demo   the same, with 30 days of sample runs in an empty ledger",
    "deno task start        serves in production",
    "",
    "Settings come from the environment:",
    ...Object.entries(MEANINGS).map(([name, text]) => `  ${name.padEnd(width)}  ${text}`),
    "",
    "docs/OPERATIONS.md explains the settings, and how to run the service.",
  ];
}

/**
 * Parses all settings and reports every problem, not only the first.
 *
 * @param env the environment; an empty value counts as absent
 * @param args the command line: `--dev`, `--dev --demo` or nothing
 */
export function parseConfig(env: Record<string, string>, args: readonly string[]): ConfigResult {
  const overriddenBy = ADDRESS_OVERRIDES.find((name) => env[name] !== undefined) ?? null;
  const flags = parseFlags(args, overriddenBy);
  const { values, invalid, problems } = parseSettings(env);
  const config = toConfig(values, flags, overriddenBy, env);
  const hosted = config.platform.isHosted ? hostedProblems(values, invalid) : [];
  const all = [
    ...flags.problems,
    ...problems,
    ...hosted,
    ...flags.demo && (!flags.dev || isShared(config.kv)) ? [DEMO_REFUSED] : [],
    ...values.RUNLEDGER_SMTP_URL !== undefined && config.mail === null &&
        !invalid.has("RUNLEDGER_SMTP_FROM")
      ? [SENDER_REQUIRED]
      : [],
    // Without a valid region, keys cannot be checked against it.
    ...[...problems, ...hosted].some(isAboutRegion) ? [] : keyProblems(config),
    ...unknownSettings(env),
  ];
  return all.length > 0 ? { ok: false, problems: all } : { ok: true, config };
}

function isAboutRegion(problem: string): boolean {
  return problem.startsWith("RUNLEDGER_REGION ");
}

/**
 * Parses each setting. An invalid one falls back to its default, so the others can still be
 * checked.
 */
function parseSettings(env: Record<string, string>) {
  const present = Object.fromEntries(
    SETTING_NAMES.flatMap((name) => env[name] ? [[name, env[name]]] : []),
  );
  const parsed = settings.safeParse(present);
  if (parsed.success) return { values: parsed.data, invalid: new Set<string>(), problems: [] };
  const { issues } = parsed.error;
  const invalid = new Set(issues.map(({ path }) => String(path[0])));
  const valid = Object.entries(present).filter(([name]) => !invalid.has(name));
  return {
    values: settings.parse(Object.fromEntries(valid)),
    invalid,
    problems: issues.map(({ path, message }) => `${path.join(".")} must be ${message}`),
  };
}

/** Reports what a hosting platform needs in addition: it has no lasting disk and no default region. */
function hostedProblems(
  { RUNLEDGER_KV, RUNLEDGER_REGION }: z.infer<typeof settings>,
  invalid: ReadonlySet<string>,
): string[] {
  const problems: string[] = [];
  if (RUNLEDGER_REGION === undefined && !invalid.has("RUNLEDGER_REGION")) {
    problems.push(`RUNLEDGER_REGION must be set to ${REGION}: Deno Deploy has no default`);
  }
  if (RUNLEDGER_KV !== undefined && !isShared(parseLocation(RUNLEDGER_KV))) {
    problems.push(
      `RUNLEDGER_KV must be ${KV_URL}, or unset for the attached KV: ` +
        "an instance on Deno Deploy loses its disk and memory when it stops",
    );
  }
  return problems;
}

/** Reports unknown settings: a misspelled one would silently take its default. */
function unknownSettings(env: Record<string, string>): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith("RUNLEDGER_") && !SETTING_NAMES.includes(name))
    .map((name) => `${name} is not a setting: the settings are ${SETTING_NAMES.join(", ")}`);
}

function toConfig(
  values: z.infer<typeof settings>,
  { dev, demo }: { readonly dev: boolean; readonly demo: boolean },
  overriddenBy: string | null,
  env: Record<string, string>,
) {
  const platform = platformOf(env);
  const region = values.RUNLEDGER_REGION ?? "eu";
  const shared = developmentKey(region);
  return {
    host: values.HOST,
    port: values.PORT,
    /** Variable by which the runtime listens on another address; null for none. */
    overriddenBy,
    platform,
    region,
    /** Location of the ledger. */
    kv: kvOf(values.RUNLEDGER_KV, platform),
    /** True if the platform attached a KV, which is never a file. */
    hasAttachedKv: /^https?:\/\//.test(env["DENO_KV_DEFAULT_PATH"] ?? ""),
    /** Access token of a shared KV, or null to leave it to the runtime's own variable. */
    kvToken: values.RUNLEDGER_KV_TOKEN ?? null,
    /** First team's key, or null to generate one for an empty store. */
    key: values.RUNLEDGER_KEY ?? (dev ? shared : null),
    /** The operator's key, or null for no operator. */
    operatorKey: values.RUNLEDGER_OPERATOR_KEY ?? null,
    /** Plan of the first team, or null to leave it unchanged. */
    tier: values.RUNLEDGER_TIER ?? null,
    /** Address of the first team's owner, or null to leave it unchanged. */
    ownerEmail: values.RUNLEDGER_OWNER_EMAIL ?? null,
    mail: mailOf(values),
    /** Addresses that channels may call. */
    egress: parseEgress(values.RUNLEDGER_EGRESS ?? EGRESS_DEFAULT) ?? NO_EGRESS,
    /** Connections to models for judges. */
    connections: parseConnections(values.RUNLEDGER_LLM ?? "") ?? [],
    /** Key of the secrets of channels, or null for a file next to the ledger. */
    sealKey: parseSealKey(values.RUNLEDGER_SEAL_KEY ?? ""),
    /** Origin of links in messages; null for no links. */
    publicUrl: originOf(values.RUNLEDGER_PUBLIC_URL ?? ""),
    /** Target resident size of the process, in megabytes. */
    memoryMb: values.RUNLEDGER_MEMORY_MB ?? platform.memoryMb,
    /** True under `deno task dev`. */
    dev,
    /** True to load the sample runs into an empty ledger. */
    demo,
    /**
     * Key to refuse: the well-known one, except with `--dev` on a loopback address. Behind a proxy,
     * anyone can reach a service that listens on the loopback address.
     */
    refusedKey: dev && isLoopback(values.HOST) ? null : shared,
  };
}

/** Returns the mail server's URL, with its password, and the sender; null without both (R28). */
function mailOf(
  { RUNLEDGER_SMTP_URL: url, RUNLEDGER_SMTP_FROM: sender }: z.infer<typeof settings>,
) {
  if (url === undefined) return null;
  const user = parseMailServer(url)?.login?.user;
  const from = sender ?? z.email().safeParse(user).data;
  return from === undefined ? null : { url, from };
}

/** Parses the URL of a host alone; returns its origin, or null for any other text. */
function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, username, password, pathname, origin } = new URL(text);
  const isOrigin = /^https?:$/.test(protocol) && `${username}${password}` === "" &&
    pathname === "/" && !/[?#]/.test(text);
  return isOrigin ? origin : null;
}

function kvOf(text: string | undefined, { isHosted }: Platform): KvLocation {
  if (text === undefined && isHosted) return PLATFORM_KV;
  return parseLocation(text ?? KV_DEFAULT);
}

function keyProblems(
  { key, operatorKey, region, refusedKey, host, dev, overriddenBy }: Config,
): string[] {
  const problems: string[] = [];
  const reason = overriddenBy !== null
    ? `${overriddenBy} is set, which overrides HOST`
    : dev
    ? `HOST is ${host}`
    : "--dev is not given";
  if (key !== null && !isTeamKey(key, region)) {
    problems.push(`RUNLEDGER_KEY must belong to region ${region}`);
  } else if (key !== null && key === refusedKey) {
    problems.push(
      "RUNLEDGER_KEY is the development key, which is public: set a key of your own. It works " +
        `only with --dev and HOST=127.0.0.1, and ${reason}`,
    );
  }
  if (operatorKey !== null && !isOperatorKey(operatorKey, region)) {
    problems.push(`RUNLEDGER_OPERATOR_KEY must belong to region ${region}`);
  }
  return problems;
}

/** Parses the command line; `--dev` is refused where a variable overrides the address. */
function parseFlags(
  args: readonly string[],
  overriddenBy: string | null,
): { dev: boolean; demo: boolean; problems: string[] } {
  try {
    const flag = { type: "boolean", default: false } as const;
    const { dev, demo } = parseArgs({ args: [...args], options: { dev: flag, demo: flag } }).values;
    if (!dev || overriddenBy === null) return { dev, demo, problems: [] };
    const problem = "--dev accepts the development key, which is public. It works only with " +
      `HOST=127.0.0.1, and ${overriddenBy} is set, which overrides HOST: start without --dev`;
    return { dev: false, demo: false, problems: [problem] };
  } catch (error) {
    return {
      dev: false,
      demo: false,
      problems: [error instanceof Error ? error.message : String(error)],
    };
  }
}
