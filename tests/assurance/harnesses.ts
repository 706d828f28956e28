/** Table of the adversarial harnesses, with what each one tests and its usual duration. */
import { table } from "../../tools/table.ts";
import type { Harness } from "./assurance.ts";

export const HARNESSES = {
  push: {
    summary:
      "the tests of tests/push, or those of its folders that are named, as each push runs them",
    takes: "7 minutes",
    count: null,
    load: () => import("./push.ts"),
  },
  long: {
    summary: "the tests of tests/long: every page in a browser, a fault at each commit",
    takes: "10 minutes",
    count: null,
    load: async () => (await import("./push.ts")).long,
  },
  sim: {
    summary: "random calls against a model of the contract, answer by answer and row by row",
    takes: "2 hours",
    count: { of: "sequences", usual: 20_000 },
    load: () => import("./sim/run_play.ts"),
  },
  "sim-shared": {
    summary: "the same over three instances on one store, which repeats commits",
    takes: "10 minutes",
    count: { of: "sequences", usual: 2_000 },
    load: async () => (await import("./sim/run_play.ts")).shared,
  },
  "sim-alerts": {
    summary: "random runs, rules, silences and restarts against a model of incidents, part shared",
    takes: "10 minutes",
    count: { of: "sequences", usual: 1_000 },
    load: () => import("./sim/alert_play.ts"),
  },
  "sim-checks": {
    summary:
      "random runs, checks and restarts against a model of results and statistics, part shared",
    takes: "10 minutes",
    count: { of: "sequences", usual: 1_000 },
    load: () => import("./sim/check_play.ts"),
  },
  judges: {
    summary: "days of a judge with deaths at each commit, lost answers, and a server that bills",
    takes: "20 minutes",
    count: { of: "days", usual: 10_000 },
    load: () => import("./judges/days.ts"),
  },
  workload: {
    summary: "the same calls each time: answers, messages and rows equal those that are recorded",
    takes: "3 minutes",
    count: { of: "calls", usual: 20_000 },
    load: () => import("./workload/main.ts"),
  },
  linearizability: {
    summary: "32 clients race on few ids through kills; every history must be linearizable",
    takes: "10 minutes",
    count: { of: "operations", usual: 500_000 },
    load: () => import("./linearizability/main.ts"),
  },
  fuzz: {
    summary: "hostile requests: no 5xx, no hang, nothing stored from a refused request",
    takes: "40 minutes",
    count: { of: "requests", usual: 1_000_000 },
    load: () => import("./fuzz/main.ts"),
  },
  spans: {
    summary: "mangled traces: no 5xx, nothing stored from a refused one, exact totals",
    takes: "10 minutes",
    count: { of: "bodies", usual: 100_000 },
    load: () => import("./fuzz/spans.ts"),
  },
  "shared-suite": {
    summary: "the tests over HTTP on a shared KV, served by one instance and by three",
    takes: "20 minutes",
    count: null,
    load: () => import("./shared_suite/main.ts"),
  },
  chaos: {
    summary: "full disks, locks, lost files, odd clocks, broken clients",
    takes: "7 minutes",
    count: null,
    load: () => import("./chaos/main.ts"),
  },
  crash: {
    summary: "kill -9 under load: no acknowledged write is lost or counted twice",
    takes: "10 minutes",
    count: { of: "kills", usual: 200 },
    load: () => import("./crash/main.ts"),
  },
  shared: {
    summary: "three instances over one KV that loses answers, while they and the KV are killed",
    takes: "45 minutes",
    count: { of: "kills", usual: 100 },
    load: () => import("./shared/main.ts"),
  },
  deploy: {
    summary: "instances that a platform starts, stops and kills, on the KV that it attaches",
    takes: "10 minutes",
    count: { of: "kills", usual: 100 },
    load: () => import("./deploy/main.ts"),
  },
  tenancy: {
    summary: "response times must not reveal whether another team's objects exist",
    takes: "3 minutes",
    count: { of: "pairs of requests", usual: 5_000 },
    load: () => import("./tenancy/main.ts"),
  },
  mutants: {
    summary: "bugs planted in a copy of the project, each of which a test must catch",
    takes: "2 minutes",
    count: null,
    load: () => import("./mutants/main.ts"),
  },
  campaign: {
    summary: "attacks by one team on the free plan, and their effect on other teams",
    takes: "over an hour",
    count: { of: "seconds of each attack", usual: 60 },
    load: () => import("./campaign/main.ts"),
  },
  overload: {
    summary: "ten times the sustainable load, parts file and deploy: memory, refusals, recovery",
    takes: "3 minutes",
    count: { of: "seconds of load", usual: 60 },
    load: () => import("./overload/main.ts"),
  },
  clients: {
    summary: "clients that generators make from the OpenAPI document compile and read a run",
    takes: "5 minutes",
    count: null,
    load: () => import("./clients/main.ts"),
  },
  versions: {
    summary: "the oldest and newest Deno from npm, over a file and as on Deno Deploy",
    takes: "30 seconds",
    count: null,
    load: () => import("./versions/main.ts"),
  },
} satisfies Readonly<Record<string, Harness>>;

export function isHarness(name: string): name is keyof typeof HARNESSES {
  return Object.hasOwn(HARNESSES, name);
}

export function listHarnesses(): string {
  const rows = Object.entries<Harness>(HARNESSES).map(([name, { summary, takes, count }]) => [
    name,
    summary,
    count === null ? "-" : `${count.usual.toLocaleString("en")} ${count.of}`,
    takes,
  ]);
  return table(["name", "what it tries", "--count", "takes about"], rows);
}
