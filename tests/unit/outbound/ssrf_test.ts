/**
 * URLs by which a team would reach the service's own machine and network. A listener on all addresses
 * of this machine counts connections: there must be none.
 */
import { assert, assertEquals } from "@std/assert";
import { createPost, parseEgress } from "../../../outbound/http.ts";
import { AUTHORITY } from "../../support/fakes/certificates.ts";
import { answer, Receiver } from "../../support/fakes/receiver.ts";

const NEVER = new AbortController().signal;

/** Hosts that are, or are read as, an address of this machine or of a network that is not public. */
const LITERALS = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0X7F.0x0.0x0.0x1",
  "0177.0.0.1",
  "0177.0.0.01",
  "017700000001",
  "127.0.0.1.",
  "0",
  "0.0.0.0",
  "0x0",
  "①②⑦.⓪.⓪.①",
  "１２７.０.０.１",
  "127。0。0。1",
  "127%2e0%2e0%2e1",
  "10.0.0.1",
  "012.1",
  "172.16.0.1",
  "192.168.1.1",
  "3232235777",
  "100.64.0.1",
  "169.254.169.254",
  "2852039166",
  "0xA9FEA9FE",
  "169.254.43518",
  "168.63.129.16",
  "100.100.100.200",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:a9fe:a9fe]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::a9fe:a9fe]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[fe80::1]",
  "[fd00:ec2::254]",
  "[fc00::1]",
  "[ff02::1]",
  "[2001:db8::1]",
];

/** Names of this machine and its network. */
const NAMES = [
  "localhost",
  "LocalHost.",
  "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
  "x.localhost",
  "metadata.google.internal",
  "printer.local",
  "intranet",
];

/** Answers of a name server for a name that looks public. */
const ANSWERS: Record<string, readonly string[]> = {
  "loopback.example": ["127.0.0.1"],
  "loopback6.example": ["::1"],
  "mapped.example": ["::ffff:127.0.0.1"],
  "nat64.example": ["64:ff9b::7f00:1"],
  "metadata.example": ["169.254.169.254"],
  "private.example": ["10.0.0.1"],
  "mixed.example": ["93.184.215.14", "127.0.0.1"],
  "mixed-last.example": ["2606:4700::1111", "93.184.215.14", "::1"],
  "zone.example": ["fe80::1%lo"],
  "garbage.example": ["0x7f.1"],
  "nothing.example": [],
};

Deno.test("ssrf: no URL reaches this machine or its network", async () => {
  await using receiver = new Receiver();
  const { port } = receiver;
  const egress = parseEgress("public");
  assert(egress !== null);
  let lookups = 0;
  const resolve = (name: string) => {
    lookups++;
    return Promise.resolve(ANSWERS[name] ?? ["127.0.0.1"]);
  };
  const post = createPost({ egress, resolve });
  const hosts = [...LITERALS, ...NAMES, ...Object.keys(ANSWERS)];
  const urls = hosts.flatMap((host) => [`https://${host}:8443/`, `http://${host}:${port}/`]);
  const tricks = [
    `https://93.184.215.14@127.0.0.1:8443/`,
    `https://a.example:x@127.0.0.1:${port}/`,
    `https://127.0.0.1:8443\\@a.example/`,
    `https:127.0.0.1:${port}`,
    `https://a.example#@127.0.0.1:${port}/`.replace("#", "\t"),
    `file://127.0.0.1:${port}/`,
    `ftp://127.0.0.1:${port}/`,
  ];
  for (const url of [...urls, ...tricks]) {
    const outcome = await post({ url, headers: {}, body: "" }, NEVER);
    assert(outcome.kind === "refused" || outcome.kind === "failed", url);
    if (outcome.kind === "failed") assertEquals(outcome.reason, "The host name has no address");
    else if (!url.includes("@") && url.endsWith(":8443/")) {
      assert(outcome.rule.includes("private, reserved"), url);
    }
  }
  assertEquals(receiver.connections, 0);
  assert(hosts.length >= 60 && lookups > 0, `${hosts.length} hosts`);
  // The same literals do reach it where the network is listed: the counter counts.
  const listed = parseEgress("127.0.0.0/8");
  assert(listed !== null);
  const open = createPost({ egress: listed, resolve });
  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "①②⑦.⓪.⓪.①"]) {
    await open({ url: `http://${host}:${port}/`, headers: {}, body: "" }, NEVER);
  }
  assertEquals(receiver.connections, 4);
});

Deno.test("ssrf: a name is looked up once, and the checked address is the one connected to", async () => {
  await using checked = new Receiver();
  // The same port at another address: the second answer of the name server.
  let others = 0;
  const other = Deno.listen({ hostname: "127.0.0.2", port: checked.port });
  const counting = (async () => {
    for await (const connection of other) {
      others++;
      connection.close();
    }
  })();
  const egress = parseEgress("127.0.0.1/32");
  assert(egress !== null);
  let lookups = 0;
  const resolve = () => Promise.resolve([++lookups === 1 ? "127.0.0.1" : "127.0.0.2"]);
  const post = createPost({ egress, resolve });
  const request = { url: `http://rebind.example:${checked.port}/`, headers: {}, body: "" };
  const first = await post(request, NEVER);
  assertEquals([first.kind, lookups, checked.connections], ["answered", 1, 1]);
  const second = await post(request, NEVER);
  assertEquals([second.kind, lookups, checked.connections], ["refused", 2, 1]);
  other.close();
  await counting;
  assertEquals(others, 0);
});

Deno.test("ssrf: each address of a host is tried until one connects", async () => {
  await using receiver = new Receiver();
  const egress = parseEgress("127.0.0.0/8,::1/128");
  assert(egress !== null);
  const post = createPost({ egress, resolve: () => Promise.resolve(["::1", "127.0.0.1"]) });
  const url = `http://two.example:${receiver.port}/`;
  assertEquals((await post({ url, headers: {}, body: "" }, NEVER)).kind, "answered");
});

Deno.test("ssrf: variables for proxies change nothing, with the permissions of the service", async () => {
  await using proxy = new Receiver();
  await using receiver = new Receiver();
  await using secure = new Receiver(answer(204), { tls: true });
  const names = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
  ];
  const address = `http://127.0.0.1:${proxy.port}`;
  const folder = await Deno.makeTempDir();
  const DENO_CERT = `${folder}/authority.pem`;
  await Deno.writeTextFile(DENO_CERT, AUTHORITY);
  // Those of the unit for systemd, which are fewer than those of `deno task start`.
  const permissions = ["-N", "-E", `-R=${folder}/data`, `-W=${folder}/data`];
  const urls = [`http://localhost:${receiver.port}/`, `https://receiver.test:${secure.port}/`];
  const script = new URL("../../support/fakes/post.ts", import.meta.url).pathname;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", "--lock=tests/packages/development.lock"]
      .concat(permissions, script, urls),
    cwd: new URL("../../../", import.meta.url).pathname,
    env: {
      ...Object.fromEntries(names.map((name) => [name, address])),
      NODE_USE_ENV_PROXY: "1",
      NO_PROXY: "",
      DENO_CERT,
    },
  }).output();
  await Deno.remove(folder, { recursive: true });
  const outcomes = JSON.parse(new TextDecoder().decode(stdout) || "[]");
  const statuses = outcomes.map(({ status }: { status: number }) => status);
  assertEquals(statuses, [200, 204], new TextDecoder().decode(stderr || stdout));
  const requests = receiver.requests.length + secure.requests.length;
  assertEquals([proxy.connections, requests], [0, 2]);
});
