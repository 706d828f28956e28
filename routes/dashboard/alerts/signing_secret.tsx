/** The only page that shows the signing secret of a webhook. */
import type { RequestContext } from "../../http/context.ts";
import { showPage } from "../layout/reply.tsx";
import { Copyable, Crumbs, InlineNotice } from "../components/elements.tsx";
import { channelPath, CHANNELS_PATH } from "./paths.ts";

/** Shows the secret of a webhook. No other page contains it. */
export function showSigningSecret(
  c: RequestContext,
  slug: string,
  secret: string,
  title: string,
): Response {
  return showPage(c, {
    title,
    status: 201,
    crumbs: <Crumbs links={[["Channels", CHANNELS_PATH]]} />,
    body: (
      <>
        <InlineNotice kind="warn">
          <p>
            <strong>Copy the signing secret now: it is shown this once.</strong>{" "}
            The receiver verifies the signature of each request with it.
          </p>
        </InlineNotice>
        <Copyable id="secret" text={secret} />
        <p>
          I have copied it: <a href={channelPath(slug)}>to the channel</a>
        </p>
      </>
    ),
  });
}
