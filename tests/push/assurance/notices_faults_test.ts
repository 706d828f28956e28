/**
 * Tests a store that fails at any one commit of a notice: no owner gets two e-mails, and none is
 * lost silently.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { Mail, Mailer } from "../../../domain/core/mail.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { usageSet } from "../../../kv/summaries/team_write.ts";
import { createUsageStore } from "../../../kv/teams/usage.ts";
import { hurriedTimers, KINDS, OneFault, openFaulty } from "../../assurance/sim/faults.ts";

const MONTH = "2026-11";

/** Milliseconds between two checks: longer than any retry delay. */
const CHECK_MS = 3_600_000;

/** A mail server that accepts everything. */
class Post implements Mailer {
  readonly accepted: Mail[] = [];

  async send(mail: Mail, given: () => Promise<void>) {
    try {
      await given();
    } catch (error) {
      return { kind: "failed", error: String(error) } as const;
    }
    this.accepted.push(mail);
    return { kind: "sent" } as const;
  }
}

/** Makes a team exceed 80 % of its quota; returns the state of the notice to its owner. */
async function notifyOwner(plan: OneFault, restarts: boolean) {
  const post = new Post();
  await using world = await openFaulty(plan, { tier: "free", mailer: post });
  const team = { ...world.team, ownerEmail: "owner@example.org" };
  await world.store.writer.commit({
    sums: [{ key: keys.usage(team.id, MONTH), by: 80_000n }],
    sets: [{ key: keys.team(team.id), value: team }, usageSet(team.id, world.nowMs)],
  });
  plan.start();
  for (let rounds = 0, isDone = false; !isDone; rounds++) {
    assert(rounds < 8, "the notice never ended");
    world.nowMs += CHECK_MS;
    try {
      await world.service.work.round(["back"]);
      await world.service.work.round(["send"]);
      const open = await Array.fromAsync(world.store.reader.list({ prefix: ["work"] }));
      isDone = open.every(({ key }) => !["quota", "notice"].includes(keyParts.work(key).kind));
    } catch (error) {
      assert(error instanceof StorageUnavailable, String(error));
      if (restarts) await world.restart();
    }
  }
  const notices = await createUsageStore(world.store).notices(team.id, MONTH);
  return { notices, accepted: post.accepted, log: world.log.join("\n") };
}

Deno.test("faults: after a failure at any commit, a notice is one e-mail or reported as unknown", async (t) => {
  using _ = hurriedTimers();
  const counted = new OneFault("none", 0);
  assertEquals((await notifyOwner(counted, false)).accepted.length, 1);
  assert(counted.commits >= 4, `only ${counted.commits} commits`);
  for (const kind of KINDS) {
    await t.step(`${kind}, at each of ${counted.commits} commits`, async () => {
      for (let at = 0; at < counted.commits; at++) {
        const plan = new OneFault(kind, at);
        const { notices, accepted, log } = await notifyOwner(plan, at % 2 === 1);
        const what = `${kind} at commit ${at}`;
        assert(plan.commits > at, `no commit ${at}`);
        const states = notices.map(({ percent, state }) => `${percent} ${state}`);
        // Faults that end without a restart leave nothing unknown.
        const isKnown = kind === "lost" || kind === "locked" || states[0] === "80 sent";
        assertEquals(states, [isKnown ? "80 sent" : "80 unknown"], what);
        assert(
          isKnown ? accepted.length === 1 : accepted.length <= 1,
          `${accepted.length} sent: ${what}`,
        );
        if (!isKnown) assertStringIncludes(log, '"state":"unknown"');
      }
    });
  }
});
