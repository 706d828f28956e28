/** The form of a channel, one for each type, and the API's call that it makes. */
import type { Child } from "hono/jsx";
import {
  ALL_EVENTS,
  CHANNEL_TYPES,
  type ChannelSettings,
  type ChannelType,
  type OpenedChannelSettings,
  PAGERDUTY_REGIONS,
} from "../../../domain/channels/channel.ts";
import { CHANNELS } from "../../../domain/channels/channel_body.ts";
import { MESSAGE_EVENTS } from "../../../domain/channels/message.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import type { RequestContext } from "../../http/context.ts";
import { Copyable, InlineNotice, SAVED } from "../components/elements.tsx";
import { listIn } from "../components/form_fields.tsx";
import * as objects from "../components/object_forms.tsx";
import { ObjectCrumbs, type ObjectForms } from "../components/object_pages.tsx";
import { seeOther } from "../layout/reply.tsx";
import { TYPE_LABELS, TYPE_WORDS } from "./delivery_table.tsx";
import { type AlertSetup, readSetup, showAlerts, withTabs } from "./frame.tsx";
import { channelPath, CHANNELS_PATH, NEW_CHANNEL_PATH } from "./paths.ts";

/** Returns the type of a form; the first one for another name. */
function typeOf(name: string | null | undefined): ChannelType {
  return CHANNEL_TYPES.find((type) => type === name) ?? CHANNEL_TYPES[0];
}

/** The fields of a channel. */
export function channelFormFields(form: objects.Fields, typed: objects.Typed): Child {
  const type = typeOf(typed.texts["type"]);
  const exists = objects.isStored(typed);
  const secret: SecretField = (name, label, placeholder, hint) =>
    exists
      ? form.text(name, label, "Stored encrypted. Empty: it stays as it is.", {
        placeholder: "unchanged",
      })
      : form.text(name, label, hint, { placeholder, required: true });
  return (
    <>
      {FIELDS[type](form, secret)}
      {type === "webhook" && !exists && (
        <p class="soft">
          Requests are signed (Standard Webhooks). The secret is shown once, on the next page.
        </p>
      )}
      <fieldset class="choices">
        <legend>Messages</legend>
        {form.tick("default", "Default: rules without channels of their own use it")}
        {form.tick("include_error", "Include the first 200 characters of a run's error")}
        {form.tick("enabled", "Enabled")}
      </fieldset>
    </>
  );
}

/** Builds a field of a secret, which is never filled in. */
type SecretField = (name: string, label: string, placeholder: string, hint?: string) => Child;

/** The fields of each type. */
const FIELDS: Readonly<Record<ChannelType, (form: objects.Fields, secret: SecretField) => Child>> =
  {
    webhook: ({ text, boxes }, secret) => [
      secret("url", "Address", "https://example.com/hooks/runledger"),
      boxes("events", "Events", [
        [ALL_EVENTS, "All incident events"],
        ...MESSAGE_EVENTS.filter((name) => name !== "channel.test"),
      ]),
      text(
        "headers",
        "Headers",
        "One a line, such as X-Team: billing. Their values are shown to your team.",
        { rows: 2 },
      ),
    ],
    email: ({ text }) =>
      text("to", "Recipients", "At most 10, by commas.", {
        required: true,
        placeholder: "ops@example.com",
      }),
    slack: (_, secret) =>
      secret(
        "url",
        "Address of the incoming webhook",
        "https://hooks.slack.com/services/…",
        "For Discord, the address of its webhook with /slack at the end.",
      ),
    mattermost: (_, secret) =>
      secret("url", "Address of the incoming webhook", "https://mattermost.example.com/hooks/…"),
    pagerduty: ({ choice }, secret) => (
      <div class="fields">
        {secret("routing_key", "Routing key", "")}
        {choice(
          "region",
          "Region",
          PAGERDUTY_REGIONS.map((name) => [name, name.toUpperCase()]),
        )}
      </div>
    ),
  };

/** Fills in the form from a channel; secrets stay empty, and so stay as they are. */
export function typedOfChannel({ slug, version, settings }: Channel): objects.Typed {
  const headers = settings.type === "webhook" ? Object.entries(settings.headers) : [];
  return objects.typedOf({
    ...CHANNELS.fieldsOf(settings),
    headers: headers.map(([name, value]) => `${name}: ${value}`).join("\n"),
    slug,
    version,
  });
}

/** Reads lines such as `Name: value`. A line without a colon is a name without a value. */
function headersIn(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => {
    const [name = "", ...rest] = line.split(":");
    return [name.trim(), rest.join(":").trim()];
  }));
}

/** The forms of channels. */
export const CHANNEL_FORMS: ObjectForms<ChannelSettings, OpenedChannelSettings> = {
  kind: "channel",
  listPath: CHANNELS_PATH,
  newPath: NEW_CHANNEL_PATH,
  kinds: ["type", TYPE_LABELS, TYPE_WORDS],
  storeOf: ({ channels }) => channels,
  lists: ["events"],
  parse: (typed, now) => {
    const { type } = typed.texts;
    const names = ["type", "version", "url", "headers", "to", "routing_key", "region"];
    const common = ["default", "include_error", "enabled", ...type === "webhook" ? ["events"] : []];
    const readers = { to: listIn, headers: headersIn };
    // A secret without a text is absent, so that the stored one stays.
    return CHANNELS.parse(objects.valuesOf(typed, [...names, ...common], readers), now);
  },
  open: async (c, deps) => {
    const setup = await readSetup(c, deps);
    return {
      fields: channelFormFields,
      empty: objects.typedOf({
        type: typeOf(c.req.query("type")),
        version: 0,
        events: [ALL_EVENTS],
        region: "us",
        default: !setup.channels.some(({ settings }) => settings.isDefault),
        include_error: true,
        enabled: true,
      }),
      frame: (view) => withTabs(c, setup, "channels", view),
    };
  },
  done: async (c, deps, slug, { secret }) =>
    secret === undefined
      ? seeOther(channelPath(slug) + SAVED)
      : showSecret(c, await readSetup(c, deps), slug, secret, "Channel created"),
};

/** Shows the signing secret of a webhook. No other page contains it. */
export function showSecret(
  c: RequestContext,
  setup: AlertSetup,
  slug: string,
  secret: string,
  title: string,
): Response {
  return showAlerts(c, setup, "channels", {
    title,
    status: 201,
    crumbs: <ObjectCrumbs of={CHANNEL_FORMS} />,
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
