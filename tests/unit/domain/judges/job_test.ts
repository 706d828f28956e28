/** Tries of a judge, and its account. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import {
  accountAt,
  capShareOf,
  EMPTY_ACCOUNT,
  endHold,
  heldAmount,
  HOLD_MS,
  type JudgeAccount,
  newsAt,
  PROBE_MS,
  withoutRoom,
  worstCase,
} from "../../../../domain/judges/account.ts";
import type { Judgement } from "../../../../domain/judges/answer.ts";
import {
  afterCall,
  type CallOutcome,
  claimTry,
  type JobChange,
  type JudgeJob,
  judgeResult,
  ledgerName,
  newJob,
  nextStep,
} from "../../../../domain/judges/judge_job.ts";
import { picodollars } from "../../../../domain/pricing/money.ts";
import type { RateRow } from "../../../../domain/pricing/rates.ts";
import { rateRow } from "../../../support/builders/cards.ts";

const START = Date.UTC(2026, 10, 28, 12);
const ROW = rateRow("m", 1_000_000, 2_000_000);
const TEXT = { id: "jdg_eu_1", version: 1, digest: "d1" };
const subject = (revision: number) => ({ revision, closedAt: START, model: "m" });
const GOOD: Judgement = { value: 4, score: 0.75, passed: true, reasoning: "r" };
const UNSENT: CallOutcome = { kind: "unsent" };
const LOST: CallOutcome = { kind: "lost" };

function refused(status: number, code: string | null = null, retryAfterMs = 0): CallOutcome {
  return { kind: "refused", status, code, retryAfterMs };
}

function answered(result: Judgement | "bad_json", tokens: number | null): CallOutcome {
  const counts = { inputTokens: tokens ?? 0, outputTokens: 0, cachedInputTokens: 0 };
  return {
    kind: "answered",
    answer: { result, tokens: tokens === null ? null : { ...counts, cacheWriteTokens: 0 } },
  };
}

/** Calls of one job, one after another. */
class Play {
  nowMs = START;
  calls = 0;
  state: Pick<JobChange, "job" | "account"> = {
    job: newJob(TEXT, subject(1)),
    account: EMPTY_ACCOUNT,
  };

  get job(): JudgeJob {
    return this.state.job;
  }

  claim(amount = picodollars(0.1), dailyUsd = 1): string {
    const name = `call ${++this.calls}`;
    this.state = claimTry(this.state, { name, amount }, dailyUsd, this.nowMs);
    return name;
  }

  call(outcome: CallOutcome, amount?: bigint): number {
    const name = this.claim(amount);
    const change = afterCall(this.state, name, outcome, ROW, this.nowMs);
    assert(change !== null);
    this.state = change;
    return change.nextAt - this.nowMs;
  }

  step(fresh: JudgeJob | null = newJob(TEXT, subject(1))) {
    return nextStep(this.job, fresh, this.state.account, this.nowMs);
  }
}

Deno.test("cap: what is held and spent together fits the day, to the last picodollar", () => {
  const play = new Play();
  play.claim(1_000_000_000_000n);
  assertEquals(heldAmount(play.state.account), 1_000_000_000_000n);
  const other = { job: newJob(TEXT, subject(1)), account: play.state.account };
  const over = claimTry(other, { name: "x", amount: 1n }, 1, START);
  assertEquals(over.job.end, { state: "skipped", reason: "budget" });
  assertEquals({ ...over.account, mark: null }, play.state.account);
  const dear = claimTry(other, { name: "x", amount: 1_000_000_000_001n }, 1, START);
  assertEquals(dear.job.end, { state: "skipped", reason: "too_dear" });
  const free = claimTry(other, { name: "x", amount: 0n }, 1, START);
  assertEquals(free.job.end, null);
});

Deno.test("cap: the worst case is a token for each byte and 1,000 more, at the dearest rates", () => {
  const rates = { input: 2, output: 3, cachedInput: 1, cacheWrite: 5 };
  const dear = { input: 7, output: 11, cachedInput: null, cacheWrite: null };
  const row: RateRow = { ...ROW, rates, tiers: [{ aboveInputTokens: 10, rates: dear }] };
  assertEquals(worstCase({ ...row, tiers: [] }, 500, 100), 1_500n * 5n + 100n * 3n);
  assertEquals(worstCase(row, 500, 100), 1_500n * 7n + 100n * 11n);
});

Deno.test("cap: a new day has the full cap, and a clock that is set back finds no other", () => {
  const spent: JudgeAccount = { ...EMPTY_ACCOUNT, day: "2026-11-28", spent: 5n };
  const mark = { share: "used_up", cap: 5n, since: START } as const;
  const next = { ...spent, day: "2026-11-29", spent: 0n };
  assertEquals(accountAt({ ...spent, mark }, START + 86_400_000), next);
  assertEquals(accountAt(spent, START), spent);
  assertEquals(accountAt(spent, START - 86_400_000), spent);
});

Deno.test("cap: 80 % and a call without room leave a mark, which a higher cap ends", () => {
  const spend = (account: JudgeAccount, cap: bigint, cost: bigint) => {
    const hold = { name: "x", day: "2026-11-28", amount: cost, cap };
    return endHold({ ...account, holds: [hold] }, "x", cost, START);
  };
  const account = { ...EMPTY_ACCOUNT, day: "2026-11-28" };
  assertEquals(spend(account, 1_000n, 799n).mark, null);
  const near = spend(account, 1_000n, 800n);
  assertEquals(near.mark, { share: "near", cap: 1_000n, since: START });
  assertEquals(newsAt(account, near), START);
  // Neither further costs nor a trial under a lower cap are news.
  for (const cap of [1_000n, 500n]) assertEquals(newsAt(near, spend(near, cap, 1n)), null);
  const [low, cap] = [1e-9, 1_000n];
  assertEquals([low, 2e-9].map((usd) => capShareOf(near, usd)), ["near", null]);
  const full = withoutRoom(near, low, START + 1);
  assertEquals(full.mark, { share: "used_up", cap, since: START + 1 });
  assertEquals([newsAt(near, full), newsAt(full, spend(full, cap, 1n))], [START + 1, null]);
  assertEquals(spend(full, 1_010n, 50n).mark?.share, "near");
});

Deno.test("cost: what an outcome costs, and what is only estimated", () => {
  const costs: [CallOutcome, bigint, boolean][] = [
    [UNSENT, 0n, false],
    [refused(429), 0n, false],
    [refused(500), 0n, false],
    [LOST, picodollars(0.1), true],
    [answered(GOOD, null), picodollars(0.1), true],
    [answered(GOOD, 500), 500_000_000n, false],
  ];
  for (const [outcome, cost, isEstimated] of costs) {
    const play = new Play();
    play.call(outcome);
    const { account, job } = play.state;
    assertEquals([account.spent, job.cost, job.isEstimated], [cost, cost, isEstimated]);
    assertEquals(account.holds, []);
    assertEquals(job.spentAt, cost === 0n ? null : START);
  }
});

Deno.test("cost: an answer after the end of its claim changes nothing", () => {
  const play = new Play();
  const late = play.claim();
  play.nowMs += HOLD_MS;
  const step = play.step();
  assert(step.kind === "lost");
  const lost = afterCall(play.state, late, LOST, null, play.nowMs);
  assert(lost !== null);
  assertEquals(lost.account.spent, picodollars(0.1));
  assertEquals(afterCall(lost, late, answered(GOOD, 1), ROW, play.nowMs), null);
});

Deno.test("cost: more tokens than were held block the judge, and are counted", () => {
  const play = new Play();
  play.call(answered(GOOD, 5_000), 1_000_000_000n);
  assertEquals(play.state.account.spent, 5_000_000_000n);
  assertEquals(play.state.account.blocked?.reason, "limit_ignored");
  assertEquals(play.job.end?.state, "done");
});

Deno.test("tries: 1 min doubling, six calls at most", () => {
  const reasons = new Map<CallOutcome, string>([
    [UNSENT, "unreachable"],
    [LOST, "no_answer"],
    [refused(500), "http_500"],
    [refused(429), "http_429"],
    [refused(408), "http_408"],
  ]);
  for (const [outcome, reason] of reasons) {
    const play = new Play();
    assertEquals(judgeResult("helpful", play.job).reason, null);
    const waits = [1, 2, 3, 4, 5].map(() => play.call(outcome) / 60_000);
    assertEquals(waits, [1, 2, 4, 8, 16]);
    const { state, reason: shown, tries } = judgeResult("helpful", play.job);
    assertEquals([state, shown, tries], ["pending", reason, 5]);
    play.call(outcome);
    assertEquals(play.job.end, { state: "failed", reason });
  }
});

Deno.test("tries: a provider may ask for a longer wait, up to an hour", () => {
  assertEquals(new Play().call(refused(429, null, 90_000)), 90_000);
  assertEquals(new Play().call(refused(429, null, 1)), 60_000);
  assertEquals(new Play().call(refused(503, null, 1e9)), 3_600_000);
  const play = new Play();
  play.call(refused(429, null, 90_000));
  assertEquals(play.step(), { kind: "wait", until: START + 90_000 });
  play.nowMs += 90_000;
  assertEquals(play.step().kind, "call");
  // The clock was set back by a day.
  play.nowMs -= 86_400_000;
  assertEquals(play.step().kind, "call");
});

Deno.test("tries: an answer that cannot be used is asked for once more, at once", () => {
  const play = new Play();
  assertEquals(play.call(answered("bad_json", 1)), 0);
  assertEquals(play.job.problem, "bad_json");
  assertEquals(play.step().kind, "call");
  play.call(answered("bad_json", 1));
  assertEquals(play.job.end, { state: "failed", reason: "bad_json" });
  assertEquals(play.calls, 2);
});

Deno.test("tries: a form that the server does not know is replaced by the next", () => {
  const play = new Play();
  assertEquals(play.call(refused(400)), 0);
  assertEquals(play.job.form, "json_object");
  play.call(refused(422));
  assertEquals(play.job.form, "text");
  play.call(refused(400));
  assertEquals(play.job.end, { state: "failed", reason: "http_400" });
  const redirected = new Play();
  redirected.call(refused(302));
  assertEquals(redirected.job.end, { state: "failed", reason: "http_302" });
});

Deno.test("blocked: a key, an amount or a model that is missing stops all calls but probes", () => {
  for (const outcome of [0, 401, 402, 403, 404].map((status) => refused(status))) {
    const play = new Play();
    assertEquals(play.call(outcome), PROBE_MS);
    assertEquals(play.job.tries, 0);
    assertEquals(judgeResult("helpful", play.job).reason, play.state.account.blocked?.reason);
  }
  const play = new Play();
  play.call(refused(429, "insufficient_quota"));
  const { account } = play.state;
  assertEquals(account.blocked?.reason, "insufficient_quota");
  const other = newJob({ ...TEXT, digest: "d2" }, subject(1));
  const until = START + PROBE_MS;
  assertEquals(nextStep(null, other, account, START), { kind: "wait", until });
  const changed = newJob({ ...TEXT, version: 2 }, subject(1));
  assertEquals(nextStep(null, changed, account, START).kind, "call");
  // One job probes, and the others wait for its answer.
  assertEquals(nextStep(null, other, account, until).kind, "call");
  const probe = claimTry({ job: other, account }, { name: "probe", amount: 1n }, 1, until);
  const third = newJob({ ...TEXT, digest: "d3" }, subject(1));
  assertEquals(nextStep(null, third, probe.account, until).kind, "wait");
  const after = afterCall(probe, "probe", answered(GOOD, 0), ROW, until);
  assertEquals(after?.account.blocked, null);
});

Deno.test("once: the same text is not sent again, another one is", () => {
  const play = new Play();
  play.call(answered(GOOD, 1));
  assertEquals(play.step().kind, "tell");
  const notified = { ...play.job, isTold: true };
  const next = (fresh: JudgeJob | null) =>
    nextStep(notified, fresh, play.state.account, play.nowMs).kind;
  assertEquals(next(newJob(TEXT, subject(2))), "kept");
  assertEquals(next(null), "kept");
  assertEquals(next(newJob({ ...TEXT, digest: "d2" }, subject(2))), "call");
  const name = (text: typeof TEXT) => ledgerName("team", "run", "slug", text);
  assertNotEquals(name(TEXT), name({ ...TEXT, digest: "d2" }));
});

Deno.test("once: a text that changes between tries gets its own entry in the ledger", () => {
  const play = new Play();
  play.call(LOST);
  const step = play.step(newJob({ ...TEXT, digest: "d2" }, subject(2)));
  assert(step.kind === "tell");
  assertEquals(step.job.end, { state: "failed", reason: "superseded" });
  const free = new Play();
  free.call(UNSENT);
  assertEquals(free.step(newJob({ ...TEXT, digest: "d2" }, subject(2))).kind, "call");
});
