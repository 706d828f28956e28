/** The form of a channel, one for each type, and the API's call that it makes. */
import type { Child } from "hono/jsx";
import {
  ALL_EVENTS,
  CHANNEL_TYPES,
  type ChannelType,
  PAGERDUTY_REGIONS,
} from "../../../domain/channels/channel.ts";
import { CHANNELS } from "../../../domain/channels/channel_body.ts";
import { MESSAGE_EVENTS } from "../../../domain/channels/message.ts";
import { Copyable, InlineNotice, SAVED } from "../components/elements.tsx";
import { seeOther, type View } from "../layout/page.tsx";
import { type FieldBuilder, type FormValues, isStored } from "../objects/form.tsx";
import { readAll } from "../objects/known_values.tsx";
import { ObjectCrumbs, objectPages } from "../objects/pages.tsx";
import { TYPE_LABELS } from "./delivery_table.tsx";
import { alertFrame, type AlertSetup, readSetup, withTabs } from "./frame.tsx";
import { channelPath } from "./paths.ts";

/** Builds the field of a secret, which is never filled in. */
type SecretField = (name: string, label: string, placeholder: string, hint?: string) => Child;

/** The fields of each type. */
const FIELDS: Readonly<Record<ChannelType, (field: FieldBuilder, secret: SecretField) => Child>> = {
  webhook: (field, secret) => [
    secret("url", "Address", "https://example.com/hooks/runledger"),
    field("events", "Events", undefined, {
      options: [
        [ALL_EVENTS, "All incident events"],
        ...MESSAGE_EVENTS.filter((name) => name !== "channel.test"),
      ],
    }),
    field(
      "headers",
      "Headers",
      "One a line, such as X-Team: billing. Their values are shown to your team.",
      { rows: 2 },
    ),
  ],
  email: (field) =>
    field("to", "Recipients", "At most 10, by commas.", { placeholder: "ops@example.com" }),
  slack: (_, secret) =>
    secret(
      "url",
      "Address of the incoming webhook",
      "https://hooks.slack.com/services/…",
      "For Discord, the address of its webhook with /slack at the end.",
    ),
  mattermost: (_, secret) =>
    secret("url", "Address of the incoming webhook", "https://mattermost.example.com/hooks/…"),
  pagerduty: (field, secret) => (
    <div class="fields">
      {secret("routing_key", "Routing key", "")}
      {field("region", "Region", undefined, {
        options: PAGERDUTY_REGIONS.map((name) => [name, name.toUpperCase()]),
      })}
    </div>
  ),
};

export function channelFields(field: FieldBuilder, form: FormValues): Child {
  const type = CHANNEL_TYPES.find((name) => name === form.get("type")) ?? CHANNEL_TYPES[0];
  const exists = isStored(form);
  const secret: SecretField = (name, label, placeholder, hint) =>
    exists
      ? field(name, label, "Stored encrypted. Empty: it stays as it is.", {
        placeholder: "unchanged",
      })
      : field(name, label, hint, { placeholder, required: true });
  return [
    FIELDS[type](field, secret),
    type === "webhook" && !exists && (
      <p class="soft">
        Requests are signed (Standard Webhooks). The secret is shown once, on the next page.
      </p>
    ),
    <fieldset class="choices">
      <legend>Messages</legend>
      {field("default", "Default: rules without channels of their own use it")}
      {field("include_error", "Include the first 200 characters of a run's error")}
      {field("enabled", "Enabled")}
    </fieldset>,
  ];
}

/** Name and explanation of each type. */
const TYPE_WORDS: Readonly<Record<ChannelType, string>> = {
  webhook: "Sends signed JSON to an address of yours, for a program that reacts to incidents.",
  email: "Sends a mail to up to 10 people. The service needs a mail server.",
  slack:
    "Posts to a channel of Slack or Discord, through an incoming webhook that you create there.",
  mattermost:
    "Posts to a channel of Mattermost, through an incoming webhook that you create there.",
  pagerduty: "Opens and resolves an incident of PagerDuty, which calls the person on duty.",
};

/** The pages of channels. Secrets stay empty in forms, and so stay as they are. */
export const CHANNEL_PAGES = objectPages(CHANNELS, {
  frame: alertFrame("channels"),
  variants: Object.fromEntries(
    CHANNEL_TYPES.map((type) => [type, [TYPE_LABELS[type], TYPE_WORDS[type]] as const]),
  ),
  open: async (visit) => {
    const channels = await readAll(visit, CHANNELS);
    return {
      fields: channelFields,
      empty: {
        events: [ALL_EVENTS],
        default: !channels.some(({ settings }) => settings.isDefault),
      },
    };
  },
  done: async (visit, { object: { slug }, secret }) =>
    secret === undefined
      ? seeOther(channelPath(slug) + SAVED)
      : showSecret(await readSetup(visit), slug, secret, "Channel created"),
});

/** Shows the signing secret of a webhook. No other page contains it. */
export function showSecret(setup: AlertSetup, slug: string, secret: string, title: string): View {
  return withTabs(setup, "channels", {
    title,
    status: 201,
    crumbs: <ObjectCrumbs of={CHANNEL_PAGES} />,
    body: [
      <InlineNotice kind="warn">
        <p>
          <strong>Copy the signing secret now: it is shown this once.</strong>{" "}
          The receiver verifies the signature of each request with it.
        </p>
      </InlineNotice>,
      <Copyable id="secret" text={secret} />,
      <p>
        I have copied it: <a href={channelPath(slug)}>to the channel</a>
      </p>,
    ],
  });
}
