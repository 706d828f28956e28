/** Banners for problems, each with a remedy. */
import { runPath, SPEND_PATH } from "../layout/paths.ts";
import { InlineNotice } from "../components/elements.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { MessageBanner } from "../alerts/banner.tsx";
import { RejectedBanner } from "../refusals/page.tsx";
import type { Overview } from "./read.ts";

/** Maximum models named; the spend page names all. */
const MODELS_NAMED = 3;

/** Shows the banners that apply. */
export function Banners(overview: Overview) {
  return (
    <>
      <MessageBanner {...overview.messages} />
      <DeadBanner {...overview.dead} />
      <RejectedBanner {...overview.rejected} />
      <UnpricedBanner {...overview} />
    </>
  );
}

function UnpricedBanner({ unpriced, span }: Overview) {
  if (unpriced === null) return null;
  const { calls, uncounted, models } = unpriced;
  const all = calls + uncounted;
  const lacks = [...calls > 0 ? ["no price"] : [], ...uncounted > 0 ? ["no token counts"] : []];
  const named = models.slice(0, MODELS_NAMED);
  const more = models.length - named.length;
  return (
    <InlineNotice kind="warn">
      <p>
        <strong>
          {countedText(all, "call")} {all === 1 ? "has" : "have"} {lacks.join(" or ")}
        </strong>{" "}
        since {span.from} and {all === 1 ? "counts" : "count"} as $0, so costs are too low
        {named.map((name, i) => (
          <>
            {i === 0 ? ": " : ", "}
            <code>{name}</code>
          </>
        ))}
        {more > 0 && ` and ${formatCount(more)} more`}. {calls > 0
          ? (
            <>
              <a href={`${SPEND_PATH}#unpriced`}>Add a price</a>, then reprice those calls.
            </>
          )
          : (
            <>
              <a href={`${SPEND_PATH}#unpriced`}>See the models</a>, and send the provider's usage
              with each call.
            </>
          )}
      </p>
    </InlineNotice>
  );
}

function DeadBanner({ stages, hasMore }: Overview["dead"]) {
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
