/** Runs a race on a new ledger, explains its histories, and compares all totals with them. */
import { dayOf } from "../../../domain/core/time.ts";
import { assertTotals, assertVerified } from "../../support/oracles/totals.ts";
import { Clients, type Finding } from "./clients.ts";
import { Service } from "./service.ts";

const KEY = `apk_eu_${"b7".repeat(16)}`;

/** Maximum operations between two kills; a short race has one kill, in the middle. */
const KILL_EVERY_MAX = 50_000;

interface RaceOptions {
  readonly operations: number;
  readonly seed: string;
  readonly onOperation?: () => void;
}

/** Result of a race; a wrong total throws instead. */
interface RaceResult {
  readonly done: Clients["done"];
  readonly kills: number;
  /** The first history that cannot be explained. */
  readonly finding: Finding | null;
}

export async function race(
  folder: string,
  { operations, seed, onOperation = () => {} }: RaceOptions,
): Promise<RaceResult> {
  const path = `${folder}/test.kv`;
  const settings = { RUNLEDGER_KV: path, RUNLEDGER_KEY: KEY, RUNLEDGER_TIER: "enterprise" };
  const killEvery = Math.min(Math.ceil(operations / 2), KILL_EVERY_MAX);
  const startedMs = Date.now();
  await using service = new Service(settings);
  const options = { service, key: KEY, seed, operations, killEvery, onOperation };
  const clients = new Clients(options, startedMs);
  await clients.run();
  const { done, finding } = clients;
  if (finding === null) {
    const days = [dayOf(startedMs), dayOf(Date.now())] as const;
    await assertTotals({ url: await service.url(), key: KEY }, days, done.totals);
    await assertVerified(path, done);
    await service.stop();
  }
  return { done, kills: service.kills, finding };
}
