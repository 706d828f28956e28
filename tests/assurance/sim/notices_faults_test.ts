/** A store that fails at any one commit of a notice: no owner gets an e-mail twice, or none in silence. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { Mail, Mailer } from "../../../domain/core/mail.ts";
import { keys } from "../../../kv/base/keys.ts";
import { createNoticeStore } from "../../../kv/teams/notices.ts";
import { createUsageStore } from "../../../kv/teams/usage.ts";
import { hurriedTimers, KINDS, OneFault, openFaulty } from "./faults.ts";

const MONTH = "2026-11";

/** Milliseconds between two looks: longer than the wait for any other try. */
const LOOK_MS = 3_600_000;

/** A mail server that takes everything. */
class Post implements Mailer {
  readonly taken: Mail[] = [];

  async send(mail: Mail, given: () => Promise<void>) {
    try {
      await given();
    } catch (error) {
      return { kind: "failed", error: String(error) } as const;
    }
    this.taken.push(mail);
    return { kind: "sent" } as const;
  }
}

/** Has the owner of a team told that 80 % are passed; answers what became of the notice. */
async function tellOwner(plan: OneFault, restarts: boolean) {
  const post = new Post();
  await using world = await openFaulty(plan, { tier: "free", mailer: post });
  const team = { ...world.team, ownerEmail: "owner@example.org" };
  await world.store.writer.commit({
    sums: [{ key: keys.usage(team.id, MONTH), by: 80_000n }],
    sets: [{ key: keys.team(team.id), value: team }],
  });
  plan.start();
  for (let looks = 0, isDone = false; !isDone; looks++) {
    assert(looks < 8, "never told");
    world.nowMs += LOOK_MS;
    try {
      await world.notices.round();
      isDone = (await createNoticeStore(world.store).open()).length === 0;
    } catch (error) {
      assert(error instanceof StorageUnavailable, String(error));
      if (restarts) await world.restart();
    }
  }
  const notices = await createUsageStore(world.store).notices(team.id, MONTH);
  return { notices, taken: post.taken, log: world.log.join("\n") };
}

Deno.test("faults: at whichever commit the store fails, a notice is one e-mail, or told as unknown", async (t) => {
  using _ = hurriedTimers();
  const counted = new OneFault("none", 0);
  assertEquals((await tellOwner(counted, false)).taken.length, 1);
  assert(counted.commits >= 4, `only ${counted.commits} commits`);
  for (const kind of KINDS) {
    await t.step(`${kind}, at each of ${counted.commits} commits`, async () => {
      for (let at = 0; at < counted.commits; at++) {
        const plan = new OneFault(kind, at);
        const { notices, taken, log } = await tellOwner(plan, at % 2 === 1);
        const what = `${kind} at commit ${at}`;
        assert(plan.commits > at, `no commit ${at}`);
        const states = notices.map(({ percent, state }) => `${percent} ${state}`);
        // What passes by itself leaves nothing unknown.
        const isKnown = kind === "lost" || kind === "locked" || states[0] === "80 sent";
        assertEquals(states, [isKnown ? "80 sent" : "80 unknown"], what);
        assert(isKnown ? taken.length === 1 : taken.length <= 1, `${taken.length} sent: ${what}`);
        if (!isKnown) assertStringIncludes(log, '"state":"unknown"');
      }
    });
  }
});
