/** `/dashboard/alerts/channels/{slug}`: one channel, its test, its settings, its deliveries. */
import { ALL_EVENTS, type Channel } from "../../../domain/channels/channel.ts";
import { parseChannelRotation } from "../../../domain/channels/channel_body.ts";
import { OVERLAP_HOURS } from "../../../domain/core/limits.ts";
import { CHANNEL_TESTS_PER_MINUTE, type DeliveryTry } from "../../../domain/channels/delivery.ts";
import { existing, type Problem } from "../../../domain/core/errors.ts";
import { noSuch } from "../../api/objects.ts";
import { madeBy } from "../../http/context.ts";
import { confirmedIn, ConfirmForm, ConfirmLink, tableSection } from "../components/table.tsx";
import { Ago, At, InlineNotice, KeyValues, type Pairs, Section } from "../components/elements.tsx";
import { bodyOf, formOf, FormProblem, readInteger } from "../components/form_fields.tsx";
import { durationText } from "../components/format.ts";
import { ObjectForm } from "../objects/form.tsx";
import { formOf as objectForm, objectView, ofObject } from "../objects/pages.tsx";
import { type PageHandler, seeOther, type View, type Visit } from "../layout/page.tsx";
import { queryText } from "../layout/paths.ts";
import { CHANNEL_PAGES, channelFields, showSecret } from "./channel_form.tsx";
import { HealthOf } from "./channels.tsx";
import { deliveryTable, tryText, TYPE_LABELS } from "./delivery_table.tsx";
import { listDeliveries } from "./alerts_load.ts";
import { readSetup, withTabs } from "./frame.tsx";
import { channelPath, DELIVERIES_PATH } from "./paths.ts";

/** Latest deliveries shown. */
const DELIVERIES_SHOWN = 10;

/** Reads what the page of a channel shows. */
async function load(visit: Visit, channel: Channel) {
  const query = { channel: channel.slug, limit: DELIVERIES_SHOWN };
  const { deliveries } = await listDeliveries(visit, query);
  return { channel, deliveries, setup: await readSetup(visit) };
}

type Content = Awaited<ReturnType<typeof load>>;

export const showChannel = ofObject(
  CHANNEL_PAGES,
  async (visit, channel) => channelView(visit, await load(visit, channel)),
);

function channelView(
  visit: Visit,
  content: Content,
  { tested, problem = null }: {
    readonly tested?: DeliveryTry | "limited";
    /** The reason that a rotation was refused. */
    readonly problem?: Problem | null;
  } = {},
): View {
  const { channel, deliveries, setup } = content;
  const { isAdmin } = setup;
  const { slug, settings } = channel;
  const path = channelPath(slug);
  const rotates = problem !== null ||
    isAdmin && settings.type === "webhook" && confirmedIn(visit.c, "rotate") !== null;
  const view = objectView(visit, CHANNEL_PAGES, slug, {
    subtitle: TYPE_LABELS[settings.type],
    buttons: <Buttons channel={channel} />,
    deletion:
      "Messages that wait for it are cancelled. Rules that name it send nothing there any more.",
    body: [
      rotates && <RotationForm path={path} problem={problem} />,
      <Section id="channel-state" title="State">
        {tested !== undefined && <TestResult of={tested} />}
        <KeyValues pairs={pairsOf(content)} />
      </Section>,
      tableSection("Latest deliveries", {
        ...deliveryTable({ deliveries, setup, page: path }),
        aside: <a href={DELIVERIES_PATH + queryText([["channel", slug]])}>All</a>,
        none: <p class="soft">Nothing was sent yet.</p>,
      }),
      isAdmin && (
        <Section title="Settings">
          <ObjectForm
            pages={CHANNEL_PAGES}
            open={{ fields: channelFields }}
            form={objectForm(CHANNEL_PAGES, channel)}
          />
        </Section>
      ),
    ],
  });
  return withTabs(setup, "channels", view);
}

/** The buttons of a channel. A test changes the page in place. */
function Buttons({ channel: { slug, settings } }: { readonly channel: Channel }) {
  const test = channelPath(slug, "/test");
  const swap = {
    "hx-post": test,
    "hx-select": "#channel-state",
    "hx-target": "#channel-state",
    "hx-swap": "outerHTML",
    "hx-disabled-elt": "find button",
  };
  return (
    <>
      <form class="one" method="post" action={test} {...swap}>
        <button type="submit" class="btn main">Send a test</button>
      </form>
      {settings.type === "webhook" && (
        <ConfirmLink path={channelPath(slug)} action="rotate" label="Rotate the secret…" />
      )}
    </>
  );
}

/** Returns the state and the settings; of secrets only the last characters. */
function pairsOf({ channel, deliveries, setup }: Content): Pairs {
  const { slug, settings } = channel;
  const lastOkAt = setup.health.get(slug)?.lastOkAt ?? null;
  const { previous = null } = settings.type === "webhook" ? settings : {};
  return [
    ["Now", <HealthOf channel={channel} health={setup.health.get(slug)} latest={deliveries[0]} />],
    ["Last message", lastOkAt === null ? "none" : <Ago at={lastOkAt} />],
    ["Default", settings.isDefault ? "yes: rules without channels of their own use it" : "no"],
    ["Errors of runs", settings.includeError ? "the first 200 characters are sent" : "not sent"],
    ["Host", "host" in settings && settings.host],
    ["Signing secret", "secret" in settings && `…${settings.secret.hint}`],
    ["Old secret", previous && ["signs until ", <At at={previous.untilMs} />]],
    ["Events", "events" in settings && eventsText(settings.events)],
    ["Recipients", "to" in settings && settings.to.join(", ")],
    ["Routing key", "routingKey" in settings && `…${settings.routingKey.hint}`],
    ["Region", "region" in settings && settings.region.toUpperCase()],
  ];
}

function eventsText(events: readonly string[]): string {
  return events.includes(ALL_EVENTS) ? "all incident events" : events.join(", ");
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

function RotationForm({ path, problem }: {
  readonly path: string;
  readonly problem: Problem | null;
}) {
  return (
    <ConfirmForm
      action={`${path}/rotate`}
      title="Rotate the signing secret?"
      submit="Create a new secret"
      submitClass="btn main"
      cancel="Keep it as it is"
      cancelTo={path}
    >
      <FormProblem problem={problem} fields={["overlap_hours"]} />
      <p>
        Both secrets sign each request for the hours that you choose, so that no request is lost.
      </p>
      {formOf({ overlap_hours: String(OVERLAP_HOURS.default) }, problem)
        .text("overlap_hours", "Hours in which the old secret signs too", {
          type: "number",
          min: 0,
          max: OVERLAP_HOURS.max,
        })}
    </ConfirmForm>
  );
}

/** Sends a test, and shows its result. */
export const submitTest = ofObject(CHANNEL_PAGES, async (visit, channel) => {
  const { c, deps, team } = visit;
  const result = await deps.channelTester.test(team, channel.slug, madeBy(c, deps));
  const tested = existing(result, noSuch("channel"));
  return channelView(visit, await load(visit, channel), { tested });
});

/** Replaces the secret of a webhook and shows the new one, or shows the form again. */
export const submitRotation = ofObject(CHANNEL_PAGES, async (visit, channel) => {
  const { c, deps, team } = visit;
  const { slug } = channel;
  const content = await load(visit, channel);
  visit.onProblem((problem) => channelView(visit, content, { problem }));
  const hours = readInteger(c.get("form").get("overlap_hours") ?? "");
  const overlap = parseChannelRotation(bodyOf({ overlap_hours: hours }));
  const rotated = await deps.channels.rotate(team, slug, overlap, madeBy(c, deps));
  const { secret } = existing(rotated, noSuch("channel"));
  return showSecret(content.setup, slug, secret, "Secret rotated");
});

/** Redirects a reload of a secret's page to its channel, because a secret is shown once. */
export const backToChannel: PageHandler = ({ c }) =>
  seeOther(channelPath(c.req.param("slug") ?? ""));
