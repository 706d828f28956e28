/** Only the path of the request target chooses the route, whatever other paths a request names. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { VERSION } from "../../domain/core/version.ts";
import { aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { ask, AUTH, BODY, get, head, LENGTH, unharmed } from "../support/harness/raw_socket.ts";

/** Headers by which proxies and frameworks override path, host or method. */
const MISLEADING = [
  "X-Forwarded-Host: other",
  "X-Forwarded-Host: x/v1/keys?",
  "X-Forwarded-Proto: https",
  "X-Forwarded-Port: 1",
  "X-Forwarded-Prefix: /v1/keys",
  "X-Forwarded-Path: /v1/keys",
  "X-Forwarded-Uri: /v1/keys",
  "X-Forwarded-Server: x/v1/keys?",
  'Forwarded: host="x/v1/keys?";proto=https',
  "X-Original-URL: /v1/keys",
  "X-Original-URI: /v1/keys",
  "X-Rewrite-URL: /v1/keys",
  "X-Host: x/v1/keys?",
  "X-HTTP-Host-Override: x/v1/keys?",
  "X-HTTP-Method: DELETE",
  "X-HTTP-Method-Override: DELETE",
  "X-Method-Override: PUT",
  "Content-Location: /v1/keys",
  "Referer: http://x/v1/keys",
];

Harness.test("decisions, section 2: only Host affects routing, and only by refusing", async (h) => {
  await unharmed(h, async () => {
    for (const header of MISLEADING) {
      const nowhere = await ask(h.url, get("/nope", "Host: x", AUTH, header));
      assertEquals(nowhere?.status, 404, header);
      const health = await ask(h.url, get("/healthz", "Host: x", header));
      assertEquals([health?.status, health?.body], [
        200,
        `${JSON.stringify({ status: "ok", version: VERSION })}\n`,
      ], header);
      const usage = await ask(h.url, get("/v1/usage", "Host: x", AUTH, header));
      assertStringIncludes(usage?.body ?? "", '"month"', header);
    }
  });
});

/** Other spellings of an API path; none of them is routed. */
function disguises(path: string): string[] {
  const [, version = "", rest = ""] = path.split(/^\/(v1)\//);
  return [
    `/${path}`,
    `//x${path}`,
    `/.${path}`,
    `/x/..${path}`,
    `/%2e${path}`,
    `/%2E%2E${path}`,
    `/..;${path}`,
    `/${version}/./${rest}`,
    `/${version}//${rest}`,
    `/${version}/x/../${rest}`,
    `/${version}/%2e%2e/${version}/${rest}`,
    `/${version}%2F${rest}`,
    `/${version}%2f${rest}`,
    `/${version}%5C${rest}`,
    `/${version}\\${rest}`,
    `/${version};x=1/${rest}`,
    `/${version}/${rest};x=1`,
    `/${version}/${rest}/`,
    `/${version}/${rest}//`,
    `/${version}/${rest}%20`,
    `/${version}/${rest}%00`,
    `/${version}/${rest}.json`,
    `/${version}/${rest}%3Fa=b`,
    `/${version}/${rest}%23`,
    `/${version}/${rest}&a=b`,
    `/V1/${rest}`,
    `/${version}/${rest.toUpperCase()}`,
    `/%2576%31/${rest}`,
    `http://x/${path}`,
    `http://x/y/..${path}`,
    `http://x/V1/${rest}`,
    `http://x?${path}`,
    `http://x#${path}`,
  ];
}

/** True if a target names a host and no path: that is the start page, which redirects. */
function isStart(target: string): boolean {
  return /^http:\/\/[^/]*$/.test(target.split(/[?#]/, 1)[0] ?? "");
}

Harness.test("decisions, section 2: another spelling of a path is not that path", async (h) => {
  const complete = (target: string) =>
    head(`POST ${target} HTTP/1.1`, "Host: x", AUTH, LENGTH, "Connection: close") + BODY;
  await unharmed(h, async () => {
    for (const path of ["/v1/runs", "/v1/heartbeats"]) {
      for (const target of disguises(path)) {
        // A target without a path is the start page's, which accepts no POST.
        const status = (await ask(h.url, complete(target)))?.status;
        assertEquals(status, isStart(target) ? 405 : 404, target);
      }
    }
    for (const path of ["/v1/usage", "/v1/agents", "/v1/spend/unpriced"]) {
      for (const target of disguises(path)) {
        const status = (await ask(h.url, get(target, "Host: x", AUTH)))?.status;
        assertEquals(status, isStart(target) ? 303 : 404, target);
      }
    }
  });
});

Harness.test("an absolute-form target is routed by its path, whatever the authority and the query", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const path = `/v1/runs/${runId(1)}`;
  const targets = [
    path,
    `${path}?`,
    `${path}?key=/healthz`,
    `${path}?key=/../../healthz`,
    `${path}?key=b?c=d`,
    `http://other${path}`,
    `http://other:1${path}`,
    `http://user:pw@other${path}`,
    `https://other${path}?key`,
    `HTTP://OTHER${path}`,
    path.replace("/v1/", "/%76%31/"),
  ];
  await unharmed(h, async () => {
    for (const target of targets) {
      const answer = await ask(h.url, get(target, "Host: x", AUTH));
      assertEquals(answer?.status, 200, target);
      assertStringIncludes(answer?.body ?? "", runId(1), target);
    }
  });
});
