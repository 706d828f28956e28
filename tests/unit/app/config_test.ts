import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Config, helpFor, parseConfig, SETTING_NAMES } from "../../../app/config.ts";
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { platformOf } from "../../../app/platform.ts";
import { parseMailServer } from "../../../outbound/mail.ts";
import { PLATFORM_KV } from "../../../kv/location.ts";

const OWN_KEY = `apk_eu_${"ab".repeat(16)}`;

function configAndEgress(env: Record<string, string>, ...args: string[]): Config {
  const parsed = parseConfig(env, args);
  assert(parsed.ok, parsed.ok ? "" : parsed.problems.join("; "));
  return parsed.config;
}

/** Returns the configuration without the egress policy, whose functions cannot be compared. */
function config(env: Record<string, string>, ...args: string[]): Omit<Config, "egress"> {
  const { egress: _, ...others } = configAndEgress(env, ...args);
  return others;
}

const SEAL_KEY = Uint8Array.from({ length: 32 }, (_, i) => i);

function problems(env: Record<string, string>, ...args: string[]): readonly string[] {
  const parsed = parseConfig(env, args);
  return parsed.ok ? [] : parsed.problems;
}

/** Configuration without any setting. */
const DEFAULTS = {
  host: "127.0.0.1",
  port: 8000,
  region: "eu",
  overriddenBy: null,
  platform: platformOf({}),
  kv: { kind: "file", name: "./data/runledger.kv" },
  hasAttachedKv: false,
  kvToken: null,
  key: null,
  tier: null,
  ownerEmail: null,
  mail: null,
  connections: [],
  sealKey: null,
  publicUrl: null,
  memoryMb: 600,
  dev: false,
  demo: false,
  operatorKey: null,
  refusedKey: developmentKey("eu"),
} as const;

Deno.test("settings: by default the service listens on loopback and mints its own key", () => {
  assertEquals(config({}), DEFAULTS);
});

Deno.test("settings: each setting is read from its variable; other environment variables are ignored", () => {
  const env = {
    PORT: "0",
    HOST: "::",
    RUNLEDGER_REGION: "us",
    RUNLEDGER_KV: "https://kv.example/db",
    RUNLEDGER_KV_TOKEN: "ddo_x+/=",
    RUNLEDGER_KEY: OWN_KEY.replace("eu", "us"),
    RUNLEDGER_OPERATOR_KEY: `opk_us_${"0f".repeat(16)}`,
    RUNLEDGER_TIER: "free",
    RUNLEDGER_OWNER_EMAIL: "owner@example.org",
    RUNLEDGER_SMTP_URL: "smtps://owner%40example.org:p%40ss@mail.example.org:2465",
    RUNLEDGER_SMTP_FROM: "ledger@example.org",
    RUNLEDGER_EGRESS: "public, chat.corp:8065, 10.0.0.0/8",
    RUNLEDGER_LLM: "local=http://127.0.0.1:11434/v1",
    RUNLEDGER_SEAL_KEY: SEAL_KEY.toBase64(),
    RUNLEDGER_PUBLIC_URL: "https://Ledger.example.org:8443/",
    PATH: "/bin",
    runledger_key: "x",
  };
  assertEquals(config(env), {
    ...DEFAULTS,
    host: "::",
    port: 0,
    region: "us",
    kv: { kind: "url", name: "https://kv.example/db" },
    kvToken: "ddo_x+/=",
    key: OWN_KEY.replace("eu", "us"),
    tier: "free",
    ownerEmail: "owner@example.org",
    mail: {
      url: "smtps://owner%40example.org:p%40ss@mail.example.org:2465",
      from: "ledger@example.org",
    },
    connections: [{
      name: "local",
      url: "http://127.0.0.1:11434/v1/chat/completions",
      keyVariable: null,
      outputLimit: "max_tokens",
    }],
    sealKey: SEAL_KEY,
    publicUrl: "https://ledger.example.org:8443",
    operatorKey: `opk_us_${"0f".repeat(16)}`,
    refusedKey: developmentKey("us"),
  });
});

Deno.test("settings: channels call public addresses unless a setting lists others", () => {
  const [hook, chat] = ["https://hooks.example.org/", "http://chat.corp:8065/"];
  const refused = (env: Record<string, string>) =>
    [hook, chat].map((url) => configAndEgress(env).egress.refusal(url) !== null);
  assertEquals(refused({}), [false, true]);
  assertEquals(refused({ RUNLEDGER_EGRESS: "none" }), [true, true]);
  assertEquals(refused({ RUNLEDGER_EGRESS: "chat.corp:8065" }), [true, false]);
});

Deno.test("settings: an empty value counts as absent", () => {
  assertEquals(config(Object.fromEntries(SETTING_NAMES.map((name) => [name, ""]))), config({}));
});

Deno.test("settings: --dev uses the development key, an explicit key overrides it", () => {
  assertEquals(config({}, "--dev").key, developmentKey("eu"));
  assertEquals(config({ RUNLEDGER_REGION: "us" }, "--dev").key, developmentKey("us"));
  assertEquals(config({ RUNLEDGER_KEY: OWN_KEY }, "--dev").key, OWN_KEY);
});

Deno.test("settings: --demo works only with --dev, and a ledger of this machine", () => {
  assertEquals(config({}, "--dev", "--demo").demo, true);
  assertEquals(config({ RUNLEDGER_KV: ":memory:" }, "--dev", "--demo").demo, true);
  assertEquals(config({}, "--dev").demo, false);
  const shared = { RUNLEDGER_KV: "https://kv.example/db", RUNLEDGER_KV_TOKEN: "token" };
  for (const [env, ...args] of [[{}, "--demo"], [shared, "--dev", "--demo"]] as const) {
    assertStringIncludes(problems(env, ...args).join(), "--demo fills a ledger");
  }
});

const LOOPBACK = ["127.0.0.1", "127.9.8.7", "localhost", "::1"];
const REACHABLE = [
  "0.0.0.0",
  "::",
  "10.0.0.1",
  "example.org",
  "127.0.0.1.example.org",
  "128.0.0.1",
];

Deno.test("settings: the development key is accepted only with --dev on a loopback address", () => {
  const RUNLEDGER_KEY = developmentKey("eu");
  for (const HOST of LOOPBACK) {
    assertEquals(config({ HOST }, "--dev").refusedKey, null, HOST);
    assertEquals(config({ HOST, RUNLEDGER_KEY }, "--dev").key, RUNLEDGER_KEY, HOST);
    // Other hosts reach it through a proxy on this machine.
    assertEquals(config({ HOST }).refusedKey, RUNLEDGER_KEY, HOST);
    assertStringIncludes(problems({ HOST, RUNLEDGER_KEY }).join(), "--dev is not given", HOST);
  }
  for (const HOST of REACHABLE) {
    assertStringIncludes(problems({ HOST }, "--dev").join(), `HOST is ${HOST}`, HOST);
    assertStringIncludes(problems({ HOST, RUNLEDGER_KEY }).join(), "development key", HOST);
    assertEquals(config({ HOST, RUNLEDGER_KEY: OWN_KEY }).refusedKey, RUNLEDGER_KEY, HOST);
  }
});

Deno.test("settings: --dev and the development key are refused where a variable overrides the address", () => {
  const RUNLEDGER_KEY = developmentKey("eu");
  const overrides = [
    { DENO_SERVE_ADDRESS: "tcp:0.0.0.0:8000" },
    { DENO_SERVE_ADDRESS: "tcp:127.0.0.1:8000" },
    { DENO_DEPLOY: "1", RUNLEDGER_REGION: "eu" },
    { DENO_DEPLOY: "", RUNLEDGER_REGION: "eu" },
  ];
  for (const override of overrides) {
    const reason = `${Object.keys(override)[0]} is set`;
    const ownKey = { ...override, RUNLEDGER_KEY: OWN_KEY };
    assertEquals(config(ownKey).refusedKey, RUNLEDGER_KEY);
    for (const env of [override, ownKey]) {
      const [problem = "", ...more] = problems(env, "--dev");
      assertEquals(more, []);
      assertStringIncludes(problem, "--dev");
      assertStringIncludes(problem, reason);
    }
    const [problem = "", ...more] = problems({ ...override, RUNLEDGER_KEY });
    assertEquals(more, []);
    assertStringIncludes(problem, "RUNLEDGER_KEY is the development key");
    assertStringIncludes(problem, reason);
  }
});

const DEPLOY = { DENO_DEPLOY: "1", RUNLEDGER_REGION: "us" };

Deno.test("settings: on Deno Deploy, the attached KV is the ledger unless a URL names another one", () => {
  const ATTACHED = { DENO_KV_DEFAULT_PATH: "https://kv.example/db" };
  const own = config({ ...DEPLOY, ...ATTACHED });
  assertEquals([own.kv, own.hasAttachedKv], [PLATFORM_KV, true]);
  assertEquals([own.platform.isHosted, own.memoryMb], [true, 400]);
  assertEquals(config({ ...DEPLOY, RUNLEDGER_MEMORY_MB: "300" }).memoryMb, 300);
  const url = "https://kv.example/other";
  assertEquals(config({ ...DEPLOY, ...ATTACHED, RUNLEDGER_KV: url }).kv, {
    kind: "url",
    name: url,
  });
  // The runtime would open a file, or a database in memory.
  for (const path of ["./a.kv", ":memory:", "", undefined]) {
    const env = path === undefined ? DEPLOY : { ...DEPLOY, DENO_KV_DEFAULT_PATH: path };
    assertEquals([config(env).kv, config(env).hasAttachedKv], [PLATFORM_KV, false], path);
  }
  // Elsewhere the variable does not matter.
  assertEquals(config(ATTACHED).kv, { kind: "file", name: "./data/runledger.kv" });
});

Deno.test("settings: Deno Deploy has no default region, and refuses a ledger that an instance loses", () => {
  const region = "RUNLEDGER_REGION must be set to one of eu, us: Deno Deploy has no default";
  for (const DENO_DEPLOY of ["1", "true", ""]) assertEquals(problems({ DENO_DEPLOY }), [region]);
  for (const RUNLEDGER_KV of ["./data/a.kv", "a.kv", ":memory:"]) {
    const [first, second = "", ...more] = problems({ DENO_DEPLOY: "1", RUNLEDGER_KV });
    assertEquals([first, more], [region, []]);
    assert(second.startsWith("RUNLEDGER_KV must be an http(s) URL"), second);
  }
  // The key does not belong to a default that is not used.
  assertEquals(problems({ DENO_DEPLOY: "1", RUNLEDGER_KEY: OWN_KEY.replace("eu", "us") }), [
    region,
  ]);
  assertEquals(problems({ DENO_DEPLOY: "1", RUNLEDGER_REGION: "fr" }).length, 1);
});

Deno.test("settings: --help lists every setting; no other argument prints the help", () => {
  const text = helpFor(["--dev", "--help"])?.join("\n") ?? "";
  for (const name of SETTING_NAMES) assertStringIncludes(text, `  ${name} `);
  assertEquals(helpFor(["-h"])?.join("\n"), text);
  assertEquals([helpFor([]), helpFor(["--dev"])], [null, null]);
});

const WRONG: Record<string, readonly string[]> = {
  PORT: ["-1", "65536", "8000x", "1e3", "0x50", " 80", "999999"],
  HOST: ["http://x", "a b", "x/y", "[::1]", "256.1.1.1", "1.2.3.0004"],
  RUNLEDGER_REGION: ["fr", "EU", "eu "],
  RUNLEDGER_KV: ["ftp://x/y", "postgres://x", "https://me:5ec5@kv.example/db"],
  RUNLEDGER_KV_TOKEN: ["a b", "a\n", "é"],
  RUNLEDGER_KEY: ["x", OWN_KEY.slice(1), `${OWN_KEY}0`, OWN_KEY.toUpperCase()],
  RUNLEDGER_OPERATOR_KEY: ["x", OWN_KEY, `opk_eu_${"0F".repeat(16)}`, `opk_eu_${"0".repeat(31)}`],
  RUNLEDGER_OWNER_EMAIL: [
    "owner",
    "a@b",
    "a b@example.org",
    "x <x@example.org>",
    "a@example.org,b",
  ],
  RUNLEDGER_SMTP_URL: [
    "mail.example.org",
    "http://mail.example.org",
    "smtp://",
    "smtp://mail.example.org/path",
    "smtp://mail.example.org?pool=true",
    "smtp://mail.example.org:99999",
    "smtp://u:100%@mail.example.org",
  ],
  RUNLEDGER_SMTP_FROM: ["ledger", "Runledger <ledger@example.org>"],
  RUNLEDGER_EGRESS: ["private", "publik:", "10.0.0.1/8", "none,public", "https://a.example"],
  RUNLEDGER_PUBLIC_URL: [
    "ledger.example.org",
    "ftp://ledger.example.org",
    "https://u:p@ledger.example.org",
    "https://ledger.example.org/path",
    "https://ledger.example.org/?",
    "https://ledger.example.org/#x",
  ],
  RUNLEDGER_TIER: ["Free", "gold"],
};

Deno.test("settings: an invalid value is refused with the accepted values", () => {
  for (const [name, values] of Object.entries(WRONG)) {
    for (const value of values) {
      const reported = problems({ [name]: value });
      assertEquals(reported.length, 1, `${name}=${value}`);
      assert(reported[0]?.startsWith(`${name} must be`), reported[0]);
    }
  }
});

Deno.test("settings: all problems are listed together", () => {
  const env = Object.fromEntries(
    Object.entries(WRONG).map(([name, [value]]) => [name, value ?? ""]),
  );
  const reported = problems({ ...env, RUNLEDGER_REGOIN: "eu", RUNLEDGER_X: "" });
  assertEquals(reported.map((line) => line.split(" ")[0]), [
    ...Object.keys(WRONG),
    "RUNLEDGER_REGOIN",
    "RUNLEDGER_X",
  ]);
});

Deno.test("settings: keys must match the region, which is said together with other problems", () => {
  for (const [name, prefix] of [["RUNLEDGER_KEY", "apk"], ["RUNLEDGER_OPERATOR_KEY", "opk"]]) {
    const env = { [name ?? ""]: `${prefix}_us_${"0f".repeat(16)}` };
    const wrong = `${name} must belong to region eu`;
    assertStringIncludes(problems(env).join(), wrong);
    const problemText = problems({ ...env, PORT: "x" }).join("\n");
    assertStringIncludes(problemText, "PORT must be");
    assertStringIncludes(problemText, wrong);
  }
});

Deno.test("settings: an unknown flag is reported together with invalid settings", () => {
  assertEquals(problems({}, "--prod").length, 1);
  assertEquals(problems({}, "extra").length, 1);
  assertEquals(problems({}, "--dev=yes").length, 1);
  const problemText = problems({ PORT: "x" }, "--prod").join("\n");
  assertStringIncludes(problemText, "--prod");
  assertStringIncludes(problemText, "PORT must be");
});

/** Settings with a secret that is not valid, which begins with 5ec5. */
const SECRETS: Record<string, readonly string[]> = {
  RUNLEDGER_KEY: [`apk_eu_${"5ec5".repeat(8)}0`, `apk_us_${"5ec5".repeat(8)}`],
  RUNLEDGER_OPERATOR_KEY: [`opk_us_${"5ec5".repeat(8)}`],
  RUNLEDGER_KV_TOKEN: ["5ec5ec 5ec5ec"],
  RUNLEDGER_SMTP_URL: ["smtp://me:5ec5ec@mail.example.org/x"],
};

Deno.test("settings: no problem repeats a key, a token or a password", () => {
  for (const [name, values] of Object.entries(SECRETS)) {
    for (const value of values) {
      const [problem = "", ...more] = problems({ [name]: value });
      assertEquals(more, [], name);
      assert(problem.startsWith(name) && !problem.includes("5ec5"), problem);
    }
  }
});

Deno.test("R28: the sender is its setting, else the login if that is an address, else it is missing", () => {
  const url = "smtp://me%40example.org:pass@mail.example.org";
  const from = (env: Record<string, string>) => config(env).mail?.from;
  assertEquals(from({ RUNLEDGER_SMTP_URL: url }), "me@example.org");
  const RUNLEDGER_SMTP_FROM = "ledger@example.org";
  assertEquals(from({ RUNLEDGER_SMTP_URL: url, RUNLEDGER_SMTP_FROM }), RUNLEDGER_SMTP_FROM);
  assertEquals(from({ RUNLEDGER_SMTP_FROM }), undefined);
  for (const login of ["", "me:pass@"]) {
    const RUNLEDGER_SMTP_URL = `smtp://${login}mail.example.org`;
    const [problem = "", ...more] = problems({ RUNLEDGER_SMTP_URL });
    assertEquals(more, []);
    assert(problem.startsWith("RUNLEDGER_SMTP_FROM must be set"), problem);
    assertEquals(from({ RUNLEDGER_SMTP_URL, RUNLEDGER_SMTP_FROM }), RUNLEDGER_SMTP_FROM);
    assertEquals(problems({ RUNLEDGER_SMTP_URL, RUNLEDGER_SMTP_FROM: "x" }).length, 1);
  }
});

Deno.test("settings: the mail server's default port follows from its scheme; hosts may be IP addresses", () => {
  const login = { user: "a@b", pass: "p:%" };
  assertEquals(parseMailServer("smtp://mail"), {
    host: "mail",
    port: 587,
    secure: false,
    login: null,
  });
  assertEquals(parseMailServer("smtps://a%40b:p:%25@[::1]/"), {
    host: "::1",
    port: 465,
    secure: true,
    login,
  });
});

Deno.test("settings: a key of secrets has 32 bytes, and is not printed", () => {
  for (const key of ["short", new Uint8Array(31).toBase64(), new Uint8Array(33).toBase64(), "%"]) {
    const [problem = "", ...more] = problems({ RUNLEDGER_SEAL_KEY: key });
    assertEquals([problem, more], [
      "RUNLEDGER_SEAL_KEY must be the base64 of 32 random bytes",
      [],
    ]);
  }
});
