/** Submissions of the forms of a channel. Each is the same as the API's call. */
import { parseChannel, parseChannelRotation } from "../../../domain/channels/channel_body.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { noSuch } from "../../api/config/objects.ts";
import { seeOther, showFormOnProblem } from "../layout/reply.tsx";
import { Crumbs, DELETED, SAVED } from "../components/elements.tsx";
import { bodyOf, readInteger } from "../components/form_fields.tsx";
import { channelView, readChannel, readContent, showChannelPage } from "./channel.tsx";
import { ChannelForm } from "./channel_form.tsx";
import { bodyOfChannel, readChannelTexts } from "./channel_texts.ts";
import { channelPath, CHANNELS_PATH } from "./paths.ts";
import { showSigningSecret } from "./signing_secret.tsx";

/** Sends a test, and shows its result. */
export const submitTest: Handler = async (c, deps) => {
  const channel = await readChannel(c, deps);
  if (channel === null) return fail(c, noSuch("channel"));
  const { team } = c.get("principal");
  const tested = await deps.channelTester.test(team, channel.slug, madeBy(c, deps));
  if (tested === null) return fail(c, noSuch("channel"));
  return await showChannelPage(c, deps, { ...await readContent(c, deps, channel), tested });
};

/** Changes a channel, or shows the form again. */
export const submitChannel: Handler = async (c, deps) => {
  const channel = await readChannel(c, deps);
  if (channel === null) return fail(c, noSuch("channel"));
  const { slug } = channel;
  const { team } = c.get("principal");
  const texts = readChannelTexts(c.get("form"));
  showFormOnProblem(c, (problem) => ({
    title: slug,
    crumbs: <Crumbs links={[["Channels", CHANNELS_PATH], [slug, channelPath(slug)]]} />,
    body: <ChannelForm texts={texts} problem={problem} exists />,
  }));
  const parsed = parseChannel(bodyOfChannel(texts));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { settings, version } = parsed.value;
  const put = await deps.channels.put(team, slug, settings, version, madeBy(c, deps));
  return put.ok ? seeOther(channelPath(slug) + SAVED) : fail(c, put.problem);
};

/** Replaces the secret of a webhook and shows the new one, or shows the form again. */
export const submitRotation: Handler = async (c, deps) => {
  const channel = await readChannel(c, deps);
  if (channel === null) return fail(c, noSuch("channel"));
  const { team } = c.get("principal");
  const content = await readContent(c, deps, channel);
  showFormOnProblem(c, (problem) => channelView({ ...content, confirm: "rotate", problem }));
  const hours = readInteger(c.get("form").get("overlap_hours") ?? "");
  const overlap = parseChannelRotation(bodyOf({ overlap_hours: hours }));
  if (!overlap.ok) return fail(c, overlap.problem);
  const rotated = await deps.channels.rotate(team, channel.slug, overlap.value, madeBy(c, deps));
  if (rotated === null) return fail(c, noSuch("channel"));
  if (!rotated.ok) return fail(c, rotated.problem);
  return showSigningSecret(c, channel.slug, rotated.value.secret, "Secret rotated");
};

/** Redirects a reload of a secret's page to its channel, because a secret is shown once. */
export const backToChannel: Handler = (c) => seeOther(channelPath(c.req.param("slug") ?? ""));

/** Deletes a channel. */
export const submitChannelDeletion: Handler = async (c, deps) => {
  const channel = await readChannel(c, deps);
  const { team } = c.get("principal");
  const removed = channel === null
    ? null
    : await deps.channels.remove(team, channel.slug, madeBy(c, deps));
  return removed === null ? fail(c, noSuch("channel")) : seeOther(CHANNELS_PATH + DELETED);
};
