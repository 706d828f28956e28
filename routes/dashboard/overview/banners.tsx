/** Banners for problems of the service, each with a remedy. */
import { runPath } from "../layout/paths.ts";
import { InlineNotice } from "../components/elements.tsx";
import { MessageBanner } from "../alerts/banner.tsx";
import { RejectedBanner } from "../refusals/page.tsx";
import type { OverviewData } from "./overview_load.ts";

/** Shows the banners that apply. */
export function Banners(
  { messages, dead, rejected }: Pick<OverviewData, "messages" | "dead" | "rejected">,
) {
  return (
    <>
      <MessageBanner {...messages} />
      <DeadBanner stages={dead.stages} hasMore={dead.hasMore} />
      <RejectedBanner {...rejected} />
    </>
  );
}

function DeadBanner({ stages, hasMore }: OverviewData["dead"]) {
  const count = stages.length;
  if (count === 0) return null;
  return (
    <InlineNotice kind="bad">
      <p>
        <strong>
          {hasMore ? `More than ${count}` : count} {count === 1 && !hasMore ? "run is" : "runs are"}
          {" "}
          stuck: a step after the end was given up.
        </strong>{" "}
        Fix the error; then the operator of this service retries it with{" "}
        <code>deno task jobs --redrive=RUN_ID</code>.
      </p>
      <ul>
        {stages.map(({ run, failure: { work, tries, error } }) => (
          <li>
            {work} of{" "}
            <a href={runPath(run)}>
              <code>{run}</code>
            </a>{" "}
            after {tries} tries: {error}
          </li>
        ))}
      </ul>
    </InlineNotice>
  );
}
