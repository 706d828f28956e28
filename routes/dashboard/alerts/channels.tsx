/** `/dashboard/alerts/channels`: the places that messages go to. */
import { CHANNEL_TYPES } from "../../../domain/channels/channel.ts";
import { parseChannel } from "../../../domain/channels/channel_body.ts";
import type { Delivery } from "../../../domain/channels/delivery.ts";
import { type Channel, DELIVERY_DAYS } from "../../../domain/channels/store.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { queryText } from "../layout/paths.ts";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { Crumbs, Done, Empty, SAVED, Section } from "../components/elements.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Ago } from "../components/time.tsx";
import { ChannelForm } from "./channel_form.tsx";
import { showSigningSecret } from "./signing_secret.tsx";
import { HealthOf, NO_HEALTH } from "./channel_health.tsx";
import {
  bodyOfChannel,
  type ChannelTexts,
  newChannel,
  readChannelTexts,
  typeOf,
} from "./channel_texts.ts";
import { TYPE_LABELS } from "./delivery_table.tsx";
import { type AlertSetup, readSetup, showAlerts } from "./frame.tsx";
import { type AppDeps, madeBy, type RequestContext } from "../../http/context.ts";
import { channelPath, CHANNELS_PATH, NEW_CHANNEL_PATH } from "./paths.ts";
import { WRONG_SLUG } from "../components/form_fields.tsx";
import type { Problem } from "../../../domain/core/errors.ts";

export const showChannels: Handler = async (c, deps) => {
  const setup = await readSetup(c, deps);
  const { channels, isAdmin } = setup;
  const latest = await readLatest(c, deps, channels);
  return showAlerts(c, setup, "channels", {
    title: "Channels",
    lead: "Where messages about incidents go",
    aside: isAdmin && channels.length > 0
      ? <a class="btn main" href={NEW_CHANNEL_PATH}>New channel</a>
      : null,
    body: (
      <>
        <Done c={c} />
        {channels.length === 0 ? <NoChannels isAdmin={isAdmin} /> : (
          <div class="panel">
            <Table
              label="Channels"
              class="fold"
              columns={columnsFor(setup, latest)}
              rows={channels}
            />
          </div>
        )}
      </>
    ),
  });
};

/** Reads the latest delivery of each channel, by slug. */
async function readLatest(c: RequestContext, deps: AppDeps, channels: readonly Channel[]) {
  const { team } = c.get("principal");
  const fromMs = deps.environment.now() - DELIVERY_DAYS * DAY_MS;
  const query = { state: null, incident: null, limit: 1, after: null, fromMs };
  const pages = await Promise.all(
    channels.map(({ slug }) => deps.deliveries.list(team, { ...query, channel: slug })),
  );
  return new Map(pages.flatMap(({ deliveries }) => deliveries).map((of) => [of.channel, of]));
}

function columnsFor(
  { health, now }: AlertSetup,
  latest: ReadonlyMap<string, Delivery>,
): readonly Column<Channel>[] {
  const healthOf = ({ slug }: Channel) => health.get(slug) ?? NO_HEALTH;
  return [
    {
      head: "Channel",
      isName: true,
      cell: ({ slug, settings: { isDefault } }) => (
        <>
          <a class="row" href={channelPath(slug)}>{slug}</a>
          {isDefault && <span class="tag">default</span>}
        </>
      ),
    },
    { head: "Type", cell: ({ settings }) => TYPE_LABELS[settings.type] },
    {
      head: "State",
      class: "whole",
      cell: (channel) => (
        <HealthOf
          channel={channel}
          health={healthOf(channel)}
          latest={latest.get(channel.slug)}
          now={now}
        />
      ),
    },
    {
      head: "Last message",
      before: "last message",
      cell: (channel) => {
        const { lastOkAt } = healthOf(channel);
        return lastOkAt === null ? <span class="soft">none</span> : <Ago at={lastOkAt} now={now} />;
      },
    },
  ];
}

function NoChannels({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <Empty title="No channel yet">
      <p>
        Without a channel incidents are only shown here.{" "}
        {isAdmin ? "Add one, and send it a test:" : "A team member with the scope admin adds one."}
      </p>
      {isAdmin && <TypeLinks />}
    </Empty>
  );
}

/** Links to the forms of all types. */
function TypeLinks() {
  return (
    <p class="actions">
      {CHANNEL_TYPES.map((type) => (
        <a class="btn" href={NEW_CHANNEL_PATH + queryText([["type", type]])}>{TYPE_LABELS[type]}</a>
      ))}
    </p>
  );
}

/** Shows the types of channels, or the form of one. */
export const showNewChannel: Handler = async (c, deps) => {
  const name = c.req.query("type");
  if (name === undefined) {
    return showPage(c, {
      title: "New channel",
      crumbs: <Crumbs links={[["Channels", CHANNELS_PATH]]} />,
      body: (
        <Section title="What is it?">
          <TypeLinks />
        </Section>
      ),
    });
  }
  const { channels } = await readSetup(c, deps);
  // The first channel gets the messages of all rules.
  const isDefault = !channels.some(({ settings }) => settings.isDefault);
  return showPage(c, newChannelView(newChannel(typeOf(name), isDefault), null));
};

function newChannelView(texts: ChannelTexts, problem: Problem | null) {
  return {
    title: `New channel: ${TYPE_LABELS[texts.type]}`,
    crumbs: <Crumbs links={[["Channels", CHANNELS_PATH], ["Types", NEW_CHANNEL_PATH]]} />,
    body: <ChannelForm texts={texts} problem={problem} exists={false} />,
  };
}

/** Creates a channel; shows the secret of a webhook once. */
export const submitNewChannel: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const texts = readChannelTexts(c.get("form"));
  const { slug = "" } = texts.texts;
  showFormOnProblem(c, (problem) => newChannelView(texts, problem));
  if (!CONFIG_SLUG.test(slug)) return fail(c, WRONG_SLUG);
  const parsed = parseChannel(bodyOfChannel(texts));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { settings, version } = parsed.value;
  const put = await deps.channels.put(team, slug, settings, version, madeBy(c, deps));
  if (!put.ok) return fail(c, put.problem);
  const { secret } = put.value;
  return secret === null
    ? seeOther(channelPath(slug) + SAVED)
    : showSigningSecret(c, slug, secret, "Channel created");
};
