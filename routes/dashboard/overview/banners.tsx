/** Banners for problems of the service and of channels, each with a remedy. */
import { channelPath, DELIVERIES_PATH } from "../alerts/paths.ts";
import { InlineNotice } from "../components/elements.tsx";
import { queryText, runPath } from "../layout/paths.ts";
import { RejectedBanner } from "../refusals/page.tsx";
import type { OverviewData } from "./overview_load.ts";

type Problems = OverviewData["problems"];

/** Shows the banners that apply. */
export function Banners({ of: problems }: { readonly of: Problems }) {
  return (
    <>
      <MessageBanner of={problems} />
      {problems.givenUp.stages.length > 0 && <GivenUpBanner of={problems.givenUp} />}
      <RejectedBanner {...problems.rejected} />
    </>
  );
}

/** Names channels that send nothing, and counts messages that were given up. */
function MessageBanner(
  { of: { broken, undelivered, hasMoreUndelivered } }: { readonly of: Problems },
) {
  if (broken.length + undelivered === 0) return null;
  const channels = broken.length === 1 ? "A channel sends" : `${broken.length} channels send`;
  const messages = undelivered === 1 ? "1 message was" : `${undelivered} messages were`;
  return (
    <InlineNotice kind="bad">
      {broken.length > 0 && (
        <p>
          <strong>{channels} nothing:</strong>{" "}
          {broken.map((slug, i) => [i > 0 && ", ", <a href={channelPath(slug)}>{slug}</a>])}.
          Correct the settings, then send a test.
        </p>
      )}
      {undelivered > 0 && (
        <p>
          <strong>{hasMoreUndelivered && "More than "}{messages} not delivered</strong>{" "}
          in the last 24 hours.{" "}
          <a href={DELIVERIES_PATH + queryText([["state", "dead"]])}>See which, and send again</a>
        </p>
      )}
    </InlineNotice>
  );
}

/** Lists runs whose processing was given up. */
function GivenUpBanner({ of: { stages, hasMore } }: { readonly of: Problems["givenUp"] }) {
  const count = stages.length;
  return (
    <InlineNotice kind="bad">
      <p>
        <strong>
          {hasMore && "More than "}
          {count === 1 ? "1 run is" : `${count} runs are`} stuck: a step after the end was given up.
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
