/** A notice about rejected calls, with a link to them. */
import type { TeamId } from "../../../domain/core/ids.ts";
import { countSince } from "../../../domain/refusals/refusals.ts";
import type { AppDeps } from "../../http/context.ts";
import { REFUSALS_PATH } from "../layout/paths.ts";
import { InlineNotice } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";

/** Hours that the banner covers. */
const BANNER_HOURS = 24;

/** Counts the calls of a team that were rejected in the last 24 hours. */
export async function countRejected(
  { refusals }: Pick<AppDeps, "refusals">,
  team: TeamId,
  nowMs: number,
): Promise<number> {
  return countSince(await refusals.read(team, nowMs, 0), nowMs, BANNER_HOURS);
}

/** Shows the banner if any call was rejected. */
export function RejectedBanner({ count }: { readonly count: number }) {
  return count === 0 ? null : (
    <InlineNotice kind="warn">
      <p>
        <strong>
          {countedText(count, "request")} {count === 1 ? "was" : "were"} rejected
        </strong>{" "}
        in the last {BANNER_HOURS} hours. Nothing of {count === 1 ? "it" : "them"} was stored.{" "}
        <a href={REFUSALS_PATH}>See which and why</a>
      </p>
    </InlineNotice>
  );
}
