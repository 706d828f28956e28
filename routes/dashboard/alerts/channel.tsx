/** `/dashboard/alerts/channels/{slug}`: one channel, its test, its settings, its deliveries. */
import type { Child } from "hono/jsx";
import {
  ALL_EVENTS,
  type ChannelHealth,
  type ChannelSettings,
} from "../../../domain/channels/channel.ts";
import type { Delivery, DeliveryTry } from "../../../domain/channels/delivery.ts";
import {
  type Channel,
  CHANNEL_TESTS_PER_MINUTE,
  DELIVERY_DAYS,
} from "../../../domain/channels/store.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { OVERLAP_HOURS } from "../../../domain/channels/channel_body.ts";
import { mayAdmin } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { noSuch } from "../../api/config/objects.ts";
import type { View } from "../layout/page.ts";
import { queryText } from "../layout/paths.ts";
import {
  Crumbs,
  Done,
  InlineNotice,
  type KeyValue,
  KeyValues,
  Section,
} from "../components/elements.tsx";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { Field, FormProblem } from "../components/form_fields.tsx";
import { durationText } from "../components/format.ts";
import { Ago, At } from "../components/time.tsx";
import { readSetup, showAlerts } from "./frame.tsx";
import { ChannelForm } from "./channel_form.tsx";
import { textsOfChannel } from "./channel_texts.ts";
import { HealthOf, NO_HEALTH } from "./channel_health.tsx";
import { DeliveryTable, tryText, TYPE_LABELS } from "./delivery_table.tsx";
import { channelPath, CHANNELS_PATH, DELIVERIES_PATH } from "./paths.ts";
import { DAY_MS } from "../../../domain/core/time.ts";

/** Latest deliveries shown. */
const DELIVERIES_SHOWN = 10;

/** What the page of a channel shows. */
export interface ChannelContent {
  readonly channel: Channel;
  readonly health: ChannelHealth;
  readonly deliveries: readonly Delivery[];
  readonly now: number;
  readonly isAdmin: boolean;
  /** The form that is open; null for none. */
  readonly confirm: "rotate" | "delete" | null;
  /** The reason that form was rejected. */
  readonly problem: Problem | null;
  /** Result of a test that was just sent; null without one. */
  readonly tested: DeliveryTry | "limited" | null;
}

/** Reads the channel of the path; null if there is none. */
export async function readChannel(c: RequestContext, deps: AppDeps): Promise<Channel | null> {
  const slug = c.req.param("slug") ?? "";
  return CONFIG_SLUG.test(slug) ? await deps.channels.read(c.get("principal").team, slug) : null;
}

/** Reads what the page of a channel shows. */
export async function readContent(
  c: RequestContext,
  deps: AppDeps,
  channel: Channel,
): Promise<ChannelContent> {
  const principal = c.get("principal");
  const { team } = principal;
  const now = deps.environment.now();
  const [health, page] = await Promise.all([
    deps.channels.health(team, [channel.slug]),
    deps.deliveries.list(team, {
      ...{ channel: channel.slug, state: null, incident: null, after: null },
      limit: DELIVERIES_SHOWN,
      fromMs: now - DELIVERY_DAYS * DAY_MS,
    }),
  ]);
  const confirm = c.req.query("confirm");
  return {
    channel,
    health: health.get(channel.slug) ?? NO_HEALTH,
    deliveries: page.deliveries,
    now,
    isAdmin: mayAdmin(principal),
    confirm: confirm === "rotate" || confirm === "delete" ? confirm : null,
    problem: null,
    tested: null,
  };
}

export const showChannel: Handler = async (c, deps) => {
  const channel = await readChannel(c, deps);
  if (channel === null) return fail(c, noSuch("channel"));
  return await showChannelPage(c, deps, await readContent(c, deps, channel), <Done c={c} />);
};

/** Shows the page of a channel below the tabs of alerts. */
export async function showChannelPage(
  c: RequestContext,
  deps: AppDeps,
  content: ChannelContent,
  notice: Child = null,
): Promise<Response> {
  return showAlerts(c, await readSetup(c, deps), "channels", channelView(content, notice));
}

/** The page of a channel. */
export function channelView(content: ChannelContent, notice: Child = null): View {
  const { channel: { slug, settings, version }, deliveries, isAdmin, confirm } = content;
  return {
    title: slug,
    lead: TYPE_LABELS[settings.type],
    crumbs: <Crumbs links={[["Channels", CHANNELS_PATH]]} />,
    aside: isAdmin && confirm === null ? <Actions {...content} /> : null,
    body: (
      <>
        {notice}
        {isAdmin && confirm === "delete" && <ConfirmDeletion slug={slug} />}
        {isAdmin && confirm === "rotate" && settings.type === "webhook" && (
          <RotationForm {...content} />
        )}
        <Section id="channel-state" title="State">
          {content.tested !== null && <TestResult of={content.tested} />}
          <KeyValues pairs={pairsOf(content)} />
        </Section>
        <Section
          title="Latest deliveries"
          aside={<a href={DELIVERIES_PATH + queryText([["channel", slug]])}>All</a>}
        >
          {deliveries.length === 0 ? <p class="soft">Nothing was sent yet.</p> : (
            <DeliveryTable
              label="Latest deliveries"
              deliveries={deliveries}
              isAdmin={isAdmin}
              page={channelPath(slug)}
            />
          )}
        </Section>
        {isAdmin && (
          <Section title="Settings">
            <ChannelForm texts={textsOfChannel(slug, settings, version)} problem={null} exists />
          </Section>
        )}
      </>
    ),
  };
}

/** The buttons of a channel. A test changes the page in place. */
function Actions({ channel: { slug, settings } }: ChannelContent) {
  const test = channelPath(slug, "/test");
  const swap = {
    "hx-post": test,
    "hx-select": "#channel-state",
    "hx-target": "#channel-state",
    "hx-swap": "outerHTML",
    "hx-disabled-elt": "find button",
  };
  const confirm = (form: "rotate" | "delete") => channelPath(slug) + queryText([["confirm", form]]);
  return (
    <>
      <form class="one" method="post" action={test} {...swap}>
        <button type="submit" class="btn main">Send a test</button>
      </form>
      {settings.type === "webhook" && (
        <a class="btn" href={confirm("rotate")}>
          Rotate the secret…
        </a>
      )}
      <a class="btn" href={confirm("delete")}>Delete…</a>
    </>
  );
}

function pairsOf({ channel, health, deliveries, now }: ChannelContent): readonly KeyValue[] {
  const { settings } = channel;
  return [
    ["Now", <HealthOf channel={channel} health={health} latest={deliveries[0]} now={now} />],
    [
      "Last message",
      health.lastOkAt === null ? "none" : <Ago at={health.lastOkAt} now={now} />,
    ],
    ["Default", settings.isDefault ? "yes: rules without channels of their own use it" : "no"],
    ["Errors of runs", settings.includeError ? "the first 200 characters are sent" : "not sent"],
    ...ownPairs(settings),
  ];
}

/** Returns what the type of a channel adds; of secrets only the last characters. */
function ownPairs(settings: ChannelSettings): readonly KeyValue[] {
  switch (settings.type) {
    case "webhook":
      return [
        ["Host", settings.host],
        ["Signing secret", `…${settings.secret.hint}`],
        ...settings.previous === null ? [] : [
          [
            "Old secret",
            <>
              signs until <At at={settings.previous.untilMs} />
            </>,
          ] as const,
        ],
        [
          "Events",
          settings.events.includes(ALL_EVENTS) ? "all of incidents" : settings.events.join(", "),
        ],
      ];
    case "email":
      return [["Recipients", settings.to.join(", ")]];
    case "pagerduty":
      return [
        ["Routing key", `…${settings.routingKey.hint}`],
        ["Region", settings.region.toUpperCase()],
      ];
    default:
      return [["Host", settings.host]];
  }
}

function TestResult({ of }: { readonly of: DeliveryTry | "limited" }) {
  if (of === "limited") {
    return (
      <InlineNotice kind="warn">
        <p>
          Nothing was sent: a team may test its channels {CHANNEL_TESTS_PER_MINUTE}{" "}
          times a minute. Try again in a minute.
        </p>
      </InlineNotice>
    );
  }
  const isOk = of.error === null;
  return (
    <InlineNotice kind={isOk ? "good" : "bad"}>
      <p>
        <strong>{isOk ? "The test was delivered" : "The test failed"}</strong>
        {isOk && of.status === null ? "" : `: ${tryText(of)}`}, after {durationText(of.ms)}.
      </p>
      {!isOk && of.answer !== null && of.answer !== "" && <pre class="code">{of.answer}</pre>}
    </InlineNotice>
  );
}

function ConfirmDeletion({ slug }: { readonly slug: string }) {
  return (
    <ConfirmForm
      action={channelPath(slug, "/delete")}
      title={`Delete the channel “${slug}”?`}
      submit="Delete channel"
      cancelTo={channelPath(slug)}
    >
      <p>
        Messages that wait for it are cancelled. Rules that name it send nothing there any more.
      </p>
    </ConfirmForm>
  );
}

function RotationForm({ channel: { slug }, problem }: ChannelContent) {
  return (
    <ConfirmForm
      action={channelPath(slug, "/rotate")}
      title="Rotate the signing secret?"
      submit="Create a new secret"
      submitClass="btn main"
      cancel="Keep it as it is"
      cancelTo={channelPath(slug)}
    >
      <FormProblem problem={problem} fields={["overlap_hours"]} />
      <p>
        Both secrets sign each request for the hours that you choose, so that no request is lost.
      </p>
      <Field
        name="overlap_hours"
        label="Hours in which the old secret signs too"
        type="number"
        min={0}
        max={OVERLAP_HOURS.max}
        value={String(OVERLAP_HOURS.default)}
        problem={problem}
      />
    </ConfirmForm>
  );
}
