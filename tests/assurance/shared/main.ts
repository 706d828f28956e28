/**
 * `deno task assure shared`: several instances of the service over one KV server that loses answers,
 * while they and the server are killed. The server is `denokv` where it is installed.
 */
import { assert } from "@std/assert";
import { dayOf } from "../../../domain/core/time.ts";
import { number } from "../../../tools/table.ts";
import { createProgress, type Io } from "../../../tools/command.ts";
import { Random } from "../../../tools/random.ts";
import { denokvCommand } from "../../support/fakes/denokv.ts";
import { type AssuranceOptions, commandOf, distribution, inKeptFolder } from "../assurance.ts";
import { assertTotals } from "../../support/oracles/totals.ts";
import { Clients } from "../linearizability/clients.ts";
import { lineOf } from "../linearizability/main.ts";
import { ALERT_SETTINGS, alerts } from "./alerts.ts";
import { changes } from "./changes.ts";
import { checks } from "./checks.ts";
import { Cluster, type Faults, NO_FAULTS } from "./cluster.ts";
import { Kills } from "./kills.ts";
import { largeRuns } from "./large.ts";

/** Rounds between two integrity checks. */
const AUDIT_EVERY = 10;

/** Operations, runs and changes for each round that the count asks for. */
const OPERATIONS = 200, LARGE_RUNS = 1, CHANGES = 2, RUNS = 5;

/** A part on a cluster of its own; throws if a promise is broken. */
type Part = (cluster: Cluster, options: AssuranceOptions, io: Io) => Promise<string>;

const PARTS: Readonly<Record<string, Part>> = {
  kills,
  "large parts": (cluster, { count }) => largeRuns(cluster, count * LARGE_RUNS),
  histories: (cluster, { count, seed }) => histories(cluster, count * OPERATIONS, seed),
  "keys, teams and rates": (cluster, { count }) => changes(cluster, count * CHANGES),
  alerts: (cluster, { count, seed }) =>
    alerts(cluster, {
      agents: Math.ceil(count / 2),
      kills: Math.ceil(count / 5),
      random: new Random(`${seed} alerts`),
    }),
  checks: (cluster, { count, seed }) =>
    checks(cluster, {
      runs: count * RUNS,
      kills: Math.ceil(count / 5),
      random: new Random(`${seed} checks`),
    }),
};

async function kills(cluster: Cluster, { count, seed }: AssuranceOptions, io: Io) {
  const kills = new Kills(cluster, new Random(`${seed} kills`));
  using progress = createProgress(io.screen, "rounds", count);
  for (let round = 1; round <= count; round++) {
    await kills.round();
    if (round % AUDIT_EVERY === 0) {
      await kills.audit();
      io.out(`${round} rounds, ${number(kills.metrics.acknowledged)} acknowledged calls`);
    }
    progress.step();
  }
  await kills.audit();
  await kills.verifyAll();
  const { acknowledged, refused, resent, finalMs, replacedMs, ...done } = kills.metrics;
  return [
    `${count} rounds: kill -9 of ${done.holders} holders of the lease, ${done.instances} other ` +
    `instances and ${done.kv} x of the KV server; ${done.cuts} holders without the KV for a ` +
    `while; ${kills.book.prices} prices`,
    `${number(acknowledged)} acknowledged calls: 0 lost, 0 doubled, 0 first calls answered as ` +
    `repeated; ${number(refused)} refused, ${number(resent)} sent again`,
    `usage, spend and verification are exact: ${JSON.stringify(kills.book.totals)}`,
    `another holder of the lease after ${distribution(replacedMs)}`,
    `all costs final after ${distribution(finalMs)}`,
  ].join("\n");
}

/** Faults while histories are made. */
const FAULTS: Faults = { lost: 0.05, unavailable: 0.05, jitterMs: 20 };

/** Races 32 clients; every history must have an order that explains each answer. */
async function histories(
  cluster: Cluster,
  operations: number,
  seed: string,
): Promise<string> {
  const { access } = cluster;
  cluster.faults = FAULTS;
  const startedMs = Date.now();
  const service = { url: () => Promise.resolve(access.url), killAndStart: () => {} };
  const { key } = access;
  const options = { service, key, seed, operations, killEvery: Infinity, onOperation: () => {} };
  const clients = new Clients(options, startedMs);
  await clients.run();
  const { done, finding } = clients;
  if (finding !== null) {
    const lines = [`Run ${finding.run} cannot be explained: ${finding.why}`];
    for (const list of [finding.operations, finding.history]) lines.push("", ...list.map(lineOf));
    throw new Error(lines.join("\n"));
  }
  cluster.faults = NO_FAULTS;
  await assertTotals(access, [dayOf(startedMs), dayOf(Date.now())], done.totals);
  await cluster.audit();
  cluster.assertNoDefects();
  assert(done.unknown > 0, "no call had an unknown outcome");
  return `${done.operations} calls on ${done.runs} runs explained, of which ${done.unknown} had ` +
    "an unknown outcome at first; usage and spend are exact, 0 differences";
}

/** Runs the parts whose names contain one of the given; keeps the KV of a broken promise. */
export async function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  const { parts, list, seed } = options;
  const chosen = Object.entries(PARTS)
    .filter(([name]) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (list) {
    chosen.forEach(([name]) => io.out(name));
    return true;
  }
  const denokv = denokvCommand();
  io.out(`${commandOf("shared", options)} ${parts.join(" ")}`);
  let passed = 0;
  for (const [name, part] of chosen) {
    const isKept = await inKeptFolder(seed, io, async (folder) => {
      const random = new Random(seed);
      const settings = ALERT_SETTINGS;
      await using cluster = await Cluster.start(folder, { denokv, random, settings });
      io.out(`${name}, over ${cluster.kv.name}: ${await part(cluster, options, io)}: held`);
    });
    if (isKept) passed++;
    else io.fail(`${name}: BROKEN`);
  }
  return passed === chosen.length && passed > 0;
}
