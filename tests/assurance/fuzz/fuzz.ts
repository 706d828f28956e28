/** Rounds of hostile requests: refused ones are resent, and must leave no trace. */
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { median } from "../../../bench/report.ts";
import { Random } from "../../../tools/random.ts";
import { malformed, oversized } from "./malformed.ts";
import { oddPage } from "./pages.ts";
import { damagedBody, oddRequest } from "./requests.ts";
import { changed, type Service } from "./service.ts";
import type { Shot } from "./shot.ts";
import { fire, ResponseCounts } from "./fire.ts";
import { disguised, misled } from "./targets.ts";
import { Watch } from "./watch.ts";

/** Requests of a round; nearly as many are resent. */
const ROUND = 5_000;

const GROWTH_MAX = 1.1;

/** Minimum requests to judge memory: it stabilizes within the first 300,000. */
const REQUESTS_JUDGED_MIN = 750_000;

/** Result of a fuzz run. */
export interface Outcome {
  readonly counts: ResponseCounts;
  readonly seconds: number;
  readonly rssMb: readonly number[];
}

/** Sends at least `count` requests to a service, the same ones for the same seed. */
export async function fuzz(
  service: Service,
  count: number,
  seed: string,
  onRound: (outcome: Outcome) => void = () => {},
): Promise<Outcome> {
  const random = new Random(seed);
  const cookie = await service.signIn();
  using watch = new Watch(service.pid);
  const counts = new ResponseCounts(watch);
  const startMs = performance.now();
  const outcome = (): Outcome => {
    const seconds = (performance.now() - startMs) / 1000;
    return { counts, seconds, rssMb: watch.rssMb };
  };
  while (counts.requests < count) {
    const shots = Array.from({ length: Math.min(ROUND, count) }, () => draw(random, cookie));
    const refused = await fire(service.url, shots, random, counts);
    const before = await service.finalVersions();
    await fire(service.url, refused.map(repeated), random, counts);
    const traces = changed(before, await service.finalVersions());
    if (traces.length > 0) counts.blame(`Refused requests changed ${traces.slice(0, 5)}`);
    onRound(outcome());
  }
  await judgeEnd(service, outcome());
  return outcome();
}

/** A refused request must be refused again, unless it may be answered by what is stored by now. */
function repeated(shot: Shot): Shot {
  return { ...shot, mustRefuse: shot.mustRefuse || !shot.mayPassLater };
}

function draw(random: Random, cookie: string): Shot {
  const kind = random.int(1, 1_000);
  if (kind <= 540) return oddRequest(random);
  if (kind <= 600) return oddPage(random, cookie);
  if (kind <= 750) return damagedBody(random);
  if (kind <= 830) return disguised(random);
  if (kind <= 890) return misled(random);
  return kind <= 997 ? malformed(random) : oversized(random);
}

/** Checks what must hold at the end. */
async function judgeEnd(service: Service, { counts, rssMb }: Outcome): Promise<void> {
  for (const line of service.failures) counts.blame(`The log shows ${line}`);
  const { differences } = await verifyStore(service.store);
  for (const difference of differences) {
    counts.blame(`The integrity check found ${JSON.stringify(difference)}`);
  }
  const growth = growthOf(rssMb);
  if (counts.requests >= REQUESTS_JUDGED_MIN && growth > GROWTH_MAX) {
    counts.blame(`Memory grew by a factor of ${growth.toFixed(2)}`);
  }
}

/** Divides the mean of the last third by the mean of the first third. */
export function growthOf(rssMb: readonly number[]): number {
  const third = Math.ceil(rssMb.length / 3);
  return median(rssMb.slice(-third)) / median(rssMb.slice(0, third));
}
