/** Obstacles: what keeps a judge from calling its model, and which of several is named. */
import { assertEquals } from "@std/assert";
import { block, EMPTY_ACCOUNT, withoutRoom } from "../../../../domain/judges/account.ts";
import type { Judge, JudgeSettings } from "../../../../domain/judges/judge.ts";
import { versionName } from "../../../../domain/judges/judge_job.ts";
import { type JudgeMeans, obstacleOf } from "../../../../domain/judges/obstacle.ts";
import { rateRow } from "../../../support/builders/cards.ts";
import { storedJudge } from "../../../support/builders/judges.ts";

const USED_UP_AT = 86_400_000, BLOCKED_AT = 2 * USED_UP_AT;

/** Returns an obstacle as `kind reason since`. */
function named(judge: Judge, means: JudgeMeans): string | null {
  const obstacle = obstacleOf(judge, means);
  return obstacle && `${obstacle.kind} ${obstacle.reason} ${obstacle.since}`;
}

Deno.test("of several obstacles the first that has to be removed is named, until none is left", () => {
  const judge = storedJudge("helpful");
  const usedUp = withoutRoom(EMPTY_ACCOUNT, judge.settings.dailyUsd, USED_UP_AT);
  const version = versionName({ id: judge.id ?? "", version: judge.version });
  const account = block(usedUp, "http_401", version, BLOCKED_AT);
  const means = { account, rate: rateRow("m", 1_000_000, 1_000_000), hasConnection: true };
  const unpriced = { ...means, rate: undefined };
  const disabled = storedJudge("helpful", { enabled: false });
  const lacking = { ...unpriced, hasConnection: false };
  assertEquals(named(disabled, lacking), "disabled disabled null");
  assertEquals(named(judge, lacking), "no_connection no_connection null");
  assertEquals(named(judge, unpriced), "unpriced unpriced null");
  assertEquals(named(judge, means), `blocked http_401 ${BLOCKED_AT}`);
  const changed = (fields: Partial<JudgeSettings>) => ({
    ...storedJudge("helpful", fields),
    version: judge.version + 1,
  });
  assertEquals(named(changed({ dailyUsd: 0.001 }), means), "too_dear too_dear null");
  assertEquals(named(changed({}), means), `budget budget ${USED_UP_AT}`);
  assertEquals(named(changed({ dailyUsd: 2 }), means), null);
  assertEquals(named(judge, { ...means, account: EMPTY_ACCOUNT }), null);
});
