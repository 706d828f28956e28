/**
 * Calls to all parts of the API, in one world: each example of the description with its own team,
 * hostile requests, pages, and messages to channels of every type.
 */
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import { exampleFor } from "../../../routes/openapi/document.ts";
import type { Environment } from "../../../domain/core/environment.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import { createSealer, givenKey, type OpenChannel, opening } from "../../../kv/channels/seal.ts";
import { createChannelTester } from "../../../kv/channels/tester.ts";
import type { Store } from "../../../kv/store.ts";
import { parseEgress } from "../../../outbound/http.ts";
import { createSender } from "../../../outbound/sender.ts";
import { Random } from "../../../tools/random.ts";
import { Scenario } from "../../support/builders/examples.ts";
import { aFinish, aRun, events, runId } from "../../support/builders/requests.ts";
import { dashboardRoutes } from "../../support/harness/dashboard.ts";
import { KEY, NOON } from "../../support/harness/harness.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { noise } from "../../support/harness/temp_store.ts";
import { damagedBody, oddRequest } from "../fuzz/requests.ts";
import type { Shot } from "../fuzz/shot.ts";
import { deliver } from "../sim/alert_running.ts";
import { World, type WorldOptions } from "../sim/world.ts";
import type { Determined } from "./determined.ts";

const SEAL_KEY = givenKey(new Uint8Array(32).fill(7));

/** Endless answers, and figures of the process. */
const NOT_SENT: ReadonlySet<string> = new Set(["/v1/live", "/metrics"]);

const DAY_MS = 86_400_000;

/** A large run: its number, events, those of a batch, and characters of its output. */
const LARGE = { run: 9_001, events: 300, batch: 50, output: 150_000 } as const;

/** Milliseconds in which messages are due that wait for others; retries are due later. */
const DELIVERED_MS = 5_000;

/** Days until runs are too old, and those between two nights. */
const OLD_DAYS = 120, NIGHT_DAYS = 40;

interface WholeApi {
  readonly determined: Determined;
  readonly world: Omit<WorldOptions, "tier">;
  readonly seed: string;
  /** Endpoints whose examples are sent: each of them if 1, every second one if 2. */
  readonly everyEndpoint: number;
  readonly hostile: number;
  readonly pages: number;
  /** Takes what a receiver or a mail server got. */
  readonly onSent: (text: string) => void;
  /** Records all that the world has; returns the names of the items of each list. */
  readonly atEnd: (world: World) => Promise<ReadonlyMap<string, readonly string[]>>;
}

export async function callWholeApi(options: WholeApi): Promise<void> {
  const { determined, onSent } = options;
  await using receiver = receive(onSent);
  const mailer: Mailer = {
    async send(mail, beforeText) {
      await beforeText();
      onSent(`mail ${JSON.stringify(mail)}`);
      return { kind: "sent" };
    },
  };
  const address = `127.0.0.1:${receiver.addr.port}`;
  const egress = parseEgress(`public,${address}`);
  if (egress === null) throw new TypeError(`No egress to ${address}`);
  const pagerduty = `http://${address}/pagerduty`;
  const real = createSender({
    ...{ egress, mailer, publicUrl: "https://ledger.test" },
    resolve: () => Promise.resolve([]),
    pagerdutyUrls: { us: pagerduty, eu: pagerduty },
  });
  const sender: typeof real = { send: (...args) => determined.run(() => real.send(...args)) };
  let open: OpenChannel = () => Promise.resolve(null);
  const service = (environment: Environment, store: Store) => {
    const sealer = createSealer(SEAL_KEY, environment);
    open = opening(sealer);
    const counts = { count: () => {} };
    const deps = { store, sender, open, region: "eu" as const, environment, counts };
    const channelTester = createChannelTester(deps);
    return { operatorKey: OPERATOR_KEY, egress, sealKeys: SEAL_KEY, parts: { channelTester } };
  };
  await using world = await World.open({ ...options.world, tier: "enterprise", mailer, service });
  const idle = async () => {
    world.nowMs += 1_000;
    await world.doWork();
    await world.runDeadlines();
    await world.doWork();
    await deliver(world, sender, open, DELIVERED_MS);
    await world.service.work.round(["back"]);
    await world.service.writeCounts();
  };
  await sendExamples(world, options.everyEndpoint, idle);
  await putChannels(world, address);
  await sendHostile(world, new Random(options.seed), options.hostile, idle);
  await sendLargeRun(world, idle);
  await failRuns(world, idle);
  await openPages(world, await options.atEnd(world), options.pages);
  await passNights(world, idle);
  await options.atEnd(world);
}

/** Starts a server that accepts each message. */
function receive(onSent: (text: string) => void) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { method, url, headers } = request;
    const sent = JSON.stringify([...headers].toSorted());
    onSent(`${method} ${new URL(url).pathname} ${sent} ${await request.text()}`);
    return new Response(null, { status: 204 });
  });
}

/** Sends each example of the description, and those that it needs, to a team of its own. */
async function sendExamples(
  world: World,
  every: number,
  idle: () => Promise<void>,
): Promise<void> {
  const asOperator = { Authorization: `Bearer ${OPERATOR_KEY}` };
  for (const [n, endpoint] of ENDPOINTS.entries()) {
    if (NOT_SENT.has(endpoint.path) || n % every !== 0) continue;
    const team = { name: endpoint.id, tier: "business", owner_email: "owner@example.org" };
    const made = await world.send("POST", "/v1/teams", JSON.stringify(team), asOperator);
    const { id, key: { secret } } = JSON.parse(made.text);
    const scenario = new Scenario(async ({ id, method, access }, url) => {
      const example = exampleFor({ id });
      const key = access?.scope === null ? OPERATOR_KEY : secret;
      const body = example.body === undefined ? undefined : JSON.stringify(example.body);
      const headers = { ...example.headers, Authorization: `Bearer ${key}` };
      const answer = await world.send(method, url, body, headers);
      await idle();
      return answer;
    });
    await scenario.send(endpoint);
    // The clock would look at its runs and rules for months.
    await world.send("PATCH", `/v1/teams/${id}`, '{"suspended":true}', asOperator);
  }
}

/** A channel of each type that can be reached, which all rules use. */
async function putChannels(world: World, address: string): Promise<void> {
  const url = `http://${address}`;
  const channels = {
    hook: { type: "webhook", url: `${url}/hook/1234`, headers: { "X-Team": "ops" } },
    chat: { type: "mattermost", url: `${url}/chat/1234` },
    mail: { type: "email", to: ["ops@example.org"] },
    pager: { type: "pagerduty", routing_key: "0f".repeat(16) },
  };
  for (const [slug, channel] of Object.entries(channels)) {
    const body = JSON.stringify({ ...channel, default: true });
    await world.send("PUT", `/v1/channels/${slug}`, body);
    await world.send("POST", `/v1/channels/${slug}/test`);
  }
}

async function sendHostile(
  world: World,
  random: Random,
  count: number,
  idle: () => Promise<void>,
): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    const shot = random.chance(0.8) ? oddRequest(random) : damagedBody(random);
    const { method, path, headers, body } = parsed(shot);
    if ("transfer-encoding" in headers) continue;
    await world.send(method, path, method === "GET" || method === "HEAD" ? undefined : body, {
      Authorization: "",
      ...headers,
    });
    await idle();
  }
}

/** Reads the request of a shot, which is well-formed HTTP. */
function parsed({ bytes }: Shot) {
  const text = new TextDecoder("latin1").decode(bytes);
  const at = text.indexOf("\r\n\r\n");
  const [line = "", ...lines] = text.slice(0, at).split("\r\n");
  const [method = "", path = ""] = line.split(" ");
  const headers = lines.map((each) => {
    const colon = each.indexOf(":");
    return [each.slice(0, colon), each.slice(colon + 1).trim()];
  }).filter(([name]) => !/^(host|content-length)$/i.test(name ?? ""));
  return { method, path, headers: Object.fromEntries(headers), body: text.slice(at + 4) };
}

/** A run whose events fill a page of its ledger, and whose output takes several rows. */
async function sendLargeRun(world: World, idle: () => Promise<void>): Promise<void> {
  const path = `/v1/runs/${runId(LARGE.run)}`;
  await world.send("POST", "/v1/runs", JSON.stringify(aRun(LARGE.run)));
  for (let n = 0; n < LARGE.events; n += LARGE.batch) {
    const body = { events: events(n + 1, n + LARGE.batch) };
    await world.send("POST", `${path}/events`, JSON.stringify(body));
  }
  const output = { text: noise(LARGE.output) };
  await world.send("POST", `${path}/finish`, JSON.stringify(aFinish({ output })));
  await idle();
}

/** Runs that fail in a row, are acknowledged, and succeed again: each message of an incident. */
async function failRuns(world: World, idle: () => Promise<void>): Promise<void> {
  const beat = async (n: number, status: string) => {
    const id = `run_eu_${`9${n}`.padStart(32, "0")}`;
    const body = { id, agent: "nightly", status, output: { error: "disk full" } };
    await world.send("POST", "/v1/heartbeats", JSON.stringify(body));
    await idle();
  };
  for (const n of [1, 2, 3, 4]) await beat(n, "fail");
  const { text } = await world.send("GET", "/v1/incidents?state=unresolved");
  for (const { id } of JSON.parse(text).incidents) {
    await world.send("POST", `/v1/incidents/${id}/ack`, '{"note":"seen"}');
    await idle();
  }
  for (const n of [5, 6]) await beat(n, "ok");
}

/** Opens pages as a signed-in reader: first each page, then each again. */
async function openPages(
  world: World,
  names: ReadonlyMap<string, readonly string[]>,
  count: number,
): Promise<void> {
  const form = {
    "Content-Type": "application/x-www-form-urlencoded",
    Origin: "http://ledger.test",
  };
  const headers = { ...form, "Sec-Fetch-Site": "same-origin", Authorization: "" };
  const signedIn = await world.send("POST", "/dashboard/sign-in", `key=${KEY}`, headers);
  const cookie = signedIn.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  const paths = dashboardRoutes().filter(({ method }) => method === "GET").map(({ path }) => path);
  for (let n = 0; n < count; n++) {
    const path = paths[n % paths.length] ?? "";
    const noun = /(\w[\w-]*)\/:\w+/.exec(path)?.[1] ?? "";
    const known = names.get(`/v1/${noun}`) ?? names.get(`/v1/rate-card/${noun}`);
    const name = known?.[Math.floor(n / paths.length)] ?? "htmx.js";
    await world.send("GET", path.replace(/:\w+/, encodeURIComponent(name)), undefined, {
      Authorization: "",
      Cookie: cookie,
    });
  }
}

/** Nights until data is too old, each with its sweep. */
async function passNights(world: World, idle: () => Promise<void>): Promise<void> {
  world.service.sweep.start();
  await world.service.work.round(["back"]);
  for (let day = NIGHT_DAYS; day <= OLD_DAYS; day += NIGHT_DAYS) {
    await world.passTo(NOON + day * DAY_MS);
    await idle();
    await world.service.work.round(["back"]);
  }
  await idle();
}
