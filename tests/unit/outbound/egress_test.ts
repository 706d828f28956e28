/** The rule for addresses that channels may call: by the text of a URL, and by an address of its host. */
import { assert, assertEquals } from "@std/assert";
import { type Egress, parseEgress } from "../../../outbound/http.ts";

function egress(text: string): Egress {
  const parsed = parseEgress(text);
  assert(parsed !== null, text);
  return parsed;
}

/** One address of each network that is not public. */
const NOT_PUBLIC = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.254",
  "168.63.129.16",
  "169.254.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:0:8.8.8.8",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::7f00:1",
  "100::1",
  "2001::1",
  "2001:0:7f00:1::",
  "2001:10::1",
  "2001:20::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:808:808::1",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
];

const PUBLIC = ["1.1.1.1", "8.8.8.8", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "2a00::1"];

const HOOK = new URL("https://hooks.example.org/x");

Deno.test("egress: public addresses are those outside of all special networks", () => {
  for (const address of PUBLIC) {
    assertEquals(egress("public").addressRefusal(HOOK, address), null, address);
  }
  for (const address of NOT_PUBLIC) {
    const rule = egress("public").addressRefusal(HOOK, address);
    assert(rule !== null && rule.includes("private, reserved"), address);
    assert(address === "::" || !rule.includes(address), rule);
  }
});

Deno.test("egress: a public address is called by https on two ports, without a user", () => {
  const policy = egress("public");
  for (const url of ["https://a.example/x?y", "https://a.example:8443", "https://8.8.8.8:443/"]) {
    assertEquals(policy.refusal(url), null, url);
    assertEquals(policy.addressRefusal(new URL(url), "8.8.8.8"), null, url);
  }
  const refused = [
    "http://a.example/",
    "https://a.example:444/",
    "https://a.example:80/",
    "http://a.example:443/",
    "http://8.8.8.8/",
    "https://8.8.8.8:22/",
  ];
  for (const url of refused) {
    assertEquals(policy.refusal(url), "public addresses need https:// and port 443 or 8443", url);
    assert(policy.addressRefusal(new URL(url), "8.8.8.8") !== null, url);
  }
  for (const url of ["https://u:p@a.example/", "https://u@a.example/", "http://:p@10.0.0.1/"]) {
    for (const setting of ["public", "a.example,10.0.0.0/8"]) {
      assert(egress(setting).refusal(url)?.includes("no user"), url);
    }
  }
  for (const url of ["ftp://a.example/", "file:///etc/passwd", "gopher://a.example", "data:,x"]) {
    assert(policy.refusal(url)?.includes("https:// or http://"), url);
  }
  for (const url of ["", "a.example", "https://", "https://a b/", "https://1.2.3.4.5/", "//x/y"]) {
    assertEquals(policy.refusal(url), "the URL is not valid", url);
  }
});

Deno.test("egress: names of the machine and its network are refused by their text", () => {
  const names = ["localhost", "LOCALHOST", "localhost.", "a.localhost", "router.local", "db"];
  for (const name of [...names, "metadata.google.internal", "nas.home.arpa.", "x.lan"]) {
    const rule = egress("public").refusal(`https://${name}/`);
    assert(rule?.includes("private, reserved"), name);
  }
  assertEquals(egress("public").refusal("https://localhost.example.org/"), null);
});

Deno.test("egress: a listed host opens http and each port, or the one that it names", () => {
  const policy = egress("public, Hooks.Corp., chat.corp:8065, 10.0.0.9, [fd12::1]:9000");
  const allowed = [
    ["http://hooks.corp:81/", "10.1.1.1"],
    ["http://hooks.corp./", "10.1.1.1"],
    ["https://HOOKS.corp/", "127.0.0.1"],
    ["http://chat.corp:8065/", "::1"],
    ["http://10.0.0.9:1/", "10.0.0.9"],
    ["http://[fd12:0::1]:9000/", "fd12::1"],
    ["https://a.example/", "8.8.8.8"],
  ] as const;
  for (const [url, address] of allowed) {
    assertEquals(policy.refusal(url), null, url);
    assertEquals(policy.addressRefusal(new URL(url), address), null, url);
  }
  const refused = [
    "http://chat.corp/",
    "http://a.hooks.corp/",
    "http://10.0.0.8/",
    "http://[fd12::1]/",
  ];
  for (const url of refused) assert(policy.refusal(url) !== null, url);
  const onPort = egress("chat.corp:443,b.corp:80");
  for (const url of ["https://chat.corp/", "http://b.corp/"]) {
    assertEquals(onPort.refusal(url), null, url);
  }
  assertEquals(onPort.refusal("https://a.example/"), "RUNLEDGER_EGRESS does not list the host");
});

Deno.test("egress: a listed network opens its addresses, and names whose addresses are in it", () => {
  const policy = egress("10.0.0.0/8, ::1/128");
  for (const url of ["http://10.9.9.9:99/", "http://[::1]/", "http://anything:80/"]) {
    assertEquals(policy.refusal(url), null, url);
  }
  const url = new URL("http://anything/");
  assertEquals(policy.addressRefusal(url, "10.2.3.4"), null);
  for (const address of ["11.0.0.1", "8.8.8.8", "127.0.0.1", "::ffff:10.2.3.4"]) {
    assert(policy.addressRefusal(url, address) !== null, address);
  }
});

Deno.test("egress: metadata and addresses that contain another one need a listed network", () => {
  const addresses = [
    "169.254.169.254",
    "169.254.1.1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "168.63.129.16",
    "100.100.100.200",
    "fe80::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::a9fe:a9fe",
    "0.0.0.0",
  ];
  const url = new URL("http://meta.corp/");
  for (const address of addresses) {
    assert(egress("public,meta.corp").addressRefusal(url, address) !== null, address);
    const network = `${address.replace("::ffff:169.254.169.254", "::ffff:a9fe:a9fe")}`;
    const bits = address.includes(":") ? 128 : 32;
    assertEquals(egress(`${network}/${bits}`).addressRefusal(url, address), null, address);
  }
  assert(egress("169.254.169.254").refusal("http://169.254.169.254/") !== null);
  assertEquals(egress("169.254.0.0/16").refusal("http://169.254.169.254/latest"), null);
});

Deno.test("egress: none refuses everything", () => {
  for (const url of ["https://a.example/", "http://127.0.0.1/", "https://8.8.8.8/"]) {
    assertEquals(egress("none").refusal(url), "RUNLEDGER_EGRESS is none");
    assertEquals(
      egress(" None ").addressRefusal(new URL(url), "8.8.8.8"),
      "RUNLEDGER_EGRESS is none",
    );
  }
});

Deno.test("egress: a setting that is not understood is refused as a whole", () => {
  const wrong = [
    "",
    ",",
    "public,",
    "none,public",
    "public,none",
    "https://a.example",
    "a.example/x",
    "*.example.org",
    "10.0.0.0/33",
    "10.0.0.1/8",
    "010.0.0.0/8",
    "10.0/8",
    "::/129",
    "0x7f.1",
    "2130706433",
    "1.2.3",
    "a.example:0",
    "a.example:65536",
    "a.example:x",
    "[::1",
    "[a.example]:80",
    "a..b",
    "a b",
    "public:80",
    ...["private", "internal", "all", "any", "true", "publik", "pubic", "non", "public,receiver"],
    "u@a.example",
    "ⓛocal",
  ];
  for (const text of wrong) assertEquals(parseEgress(text), null, text);
});
