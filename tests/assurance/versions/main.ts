/**
 * `deno task assure versions`: the program on other versions of Deno, over a file and as on Deno
 * Deploy, which does not let its users choose the version. Each version comes from npm.
 */
import { print, say } from "../../../bench/report.ts";
import { DENO_MIN } from "../../../app/platform.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  runId,
} from "../../support/builders/requests.ts";
import { denokvCommand, KvProcess } from "../../support/fakes/denokv.ts";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { type Launcher, Process, type Settings } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import type { AssuranceOptions } from "../assurance.ts";

/** The oldest version, one between, and the newest. */
const VERSIONS = [DENO_MIN, "2.8.0", "latest"];

const KEY = `apk_eu_${"ab".repeat(16)}`;
const OWN: Settings = { RUNLEDGER_KEY: KEY, RUNLEDGER_REGION: "eu" };

/** Milliseconds from SIGINT until Deno Deploy kills an instance. */
const KILLED_MS = 5_000;

const RUN = `/v1/runs/${runId(1)}`;
const PAGES = ["", "/runs", "/spend", "/agents", "/keys", "/rate-card"];

type Call = readonly [status: number, path: string, body?: unknown];

const CALLS: readonly Call[] = [
  [200, "/healthz"],
  [200, "/readyz"],
  [200, "/v1/ping?agent=hello"],
  [202, "/v1/runs", aRun(1)],
  [202, `${RUN}/events`, { events: [anEvent(1), anEvent(2)] }],
  [202, `${RUN}/finish`, aFinish()],
  [202, "/v1/heartbeats", aHeartbeat(2)],
  [202, `${RUN}/scores`, aScore(1)],
  [200, `${RUN}?wait=final&timeout=10`],
  [200, `${RUN}/cost`],
  [200, "/v1/runs"],
  [200, "/v1/agents"],
  [200, "/v1/changes"],
  [200, "/v1/usage"],
  [200, "/v1/rate-card"],
  [200, "/v1/keys"],
  [400, "/v1/runs", { id: "x" }],
  [404, `/v1/runs/${runId(9)}`],
  [200, "/openapi.json"],
  [200, "/metrics"],
  [200, "/dashboard/sign-in"],
];

export async function run({ parts, list }: AssuranceOptions): Promise<boolean> {
  const versions = parts.length > 0 ? parts : VERSIONS;
  if (list) {
    versions.forEach((version) => print(version));
    return true;
  }
  let isKept = true;
  for (const version of versions) {
    for (const [place, check] of [["file", overFile], ["Deno Deploy", asOnDeploy]] as const) {
      say(`Deno ${version}, ${place} …`);
      const problem = await checked(version, check);
      print(`${problem === null ? "held" : "NOT HELD"}  Deno ${version}, ${place}${problem ?? ""}`);
      isKept &&= problem === null;
    }
  }
  return isKept;
}

async function checked(
  version: string,
  check: (launcher: Launcher) => Promise<void>,
): Promise<string | null> {
  try {
    await check(launcherOf(await binaryOf(version)));
    return null;
  } catch (error) {
    return `: ${error instanceof Error ? error.message : error}`;
  }
}

/** Returns the path of a version's program; its package is a script that starts it. */
async function binaryOf(version: string): Promise<string> {
  const script = "console.log(Deno.execPath())";
  const { stdout, stderr, success } = await new Deno.Command("npx", {
    args: ["-y", `deno@${version}`, "eval", script],
    stdin: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot fetch it: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

/** Replaces the program that runs the tests by another one. */
function launcherOf(binary: string): Launcher {
  return ["/bin/sh", "-c", 'shift; exec "$0" "$@"', binary];
}

/** Starts twice on one file, the second time with its data, and once more beside it. */
async function overFile(launcher: Launcher): Promise<void> {
  await withFolder(async (folder) => {
    const settings = { ...OWN, RUNLEDGER_KV: `${folder}/test.kv` };
    {
      await using service = await Process.startBy(launcher, settings);
      await callAll(service);
      const second = await Process.startBy(launcher, settings).then(() => "", String);
      expect(second.includes("is in use by process"), `a second start: ${second}`);
      await ends(service, "SIGTERM");
    }
    await using service = await Process.startBy(launcher, settings);
    await call(service, [200, RUN]);
    await ends(service, "SIGTERM");
  });
}

/** Starts with the environment of Deno Deploy, over `denokv` where it is installed. */
async function asOnDeploy(launcher: Launcher): Promise<void> {
  await withFolder(async (folder) => {
    await using kv = await KvProcess.start(folder, denokvCommand());
    const settings = {
      ...OWN,
      DENO_DEPLOY: "1",
      DENO_KV_DEFAULT_PATH: kv.url,
      DENO_KV_ACCESS_TOKEN: KV_TOKEN,
      DENO_KV_REQUIRES_DISTRIBUTED_DATABASE: "error",
      DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
    };
    await using service = await Process.startBy(launcher, settings);
    await callAll(service);
    await ends(service, "SIGINT");
  });
}

async function callAll(service: Process): Promise<void> {
  for (const one of CALLS) await call(service, one);
  const form = new URLSearchParams({ key: KEY, next: "/dashboard" });
  const headers = { Origin: service.url, "Sec-Fetch-Site": "same-origin" };
  const signIn = await fetch(`${service.url}/dashboard/sign-in`, {
    method: "POST",
    body: form,
    headers,
    redirect: "manual",
  });
  await signIn.body?.cancel();
  expect(signIn.status === 303, `sign-in: ${signIn.status}`);
  const cookie = signIn.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  for (const page of PAGES) await call(service, [200, `/dashboard${page}`], { Cookie: cookie });
}

async function call(
  { url, stderr }: Process,
  [expected, path, body]: Call,
  headers: Record<string, string> = { Authorization: `Bearer ${KEY}` },
): Promise<void> {
  const response = await fetch(url + path, {
    headers,
    ...body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    signal: AbortSignal.timeout(15_000),
  });
  const text = await response.text();
  const { status } = response;
  expect(status === expected, `${path}: ${status} ${text.slice(0, 200)} ${stderr}`);
}

async function ends(service: Process, signal: Deno.Signal): Promise<void> {
  const { code, ms, stderr } = await service.stop(signal);
  expect(code === 0 && ms < KILLED_MS, `${signal}: code ${code} after ${ms} ms: ${stderr}`);
}

function expect(isKept: boolean, problem: string): void {
  if (!isKept) throw new Error(problem);
}
