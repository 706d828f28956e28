/** `/dashboard/alerts/deliveries`: messages on their way to channels, with every try. */
import { DELIVERY_STATES } from "../../../domain/channels/delivery.ts";
import { DELIVERY_DAYS } from "../../../domain/channels/store.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { idInPath, queryOf, timeCursor } from "../../http/query.ts";
import { NO_SUCH_DELIVERY, parseDeliveriesQuery } from "../../api/deliveries/deliveries.ts";
import { ownPage, queryText } from "../layout/paths.ts";
import { seeOther } from "../layout/reply.tsx";
import { Empty } from "../components/elements.tsx";
import { FilterForm, NextPage } from "../components/list_page.tsx";
import { Select } from "../components/form_fields.tsx";
import { DELIVERY_LABELS, DeliveryTable } from "./delivery_table.tsx";
import { readSetup, showAlerts } from "./frame.tsx";
import { madeBy } from "../../http/context.ts";
import { CHANNELS_PATH, DELIVERIES_PATH } from "./paths.ts";

/** Deliveries per page. */
const PER_PAGE = 50;

export const showDeliveries: Handler = async (c, deps) => {
  const parameters = new URLSearchParams(queryOf(c));
  const { channel = null, state = null, incident = null, cursor = null } = Object.fromEntries(
    parameters,
  );
  const parsed = parseDeliveriesQuery(
    queryText([
      ...Object.entries({ channel, state, incident, cursor }),
      ["limit", PER_PAGE],
    ]).slice(1),
  );
  if (!parsed.ok) return fail(c, parsed.problem);
  const { team } = c.get("principal");
  const [setup, page] = await Promise.all([
    readSetup(c, deps),
    deps.deliveries.list(team, parsed.value),
  ]);
  const filters = { channel, state, incident };
  const isFiltered = Object.values(filters).some((value) => value !== null);
  return showAlerts(c, setup, "deliveries", {
    title: "Deliveries",
    lead: `Messages to channels, kept for ${DELIVERY_DAYS} days`,
    body: (
      <>
        <FilterForm action={DELIVERIES_PATH}>
          <Select
            name="channel"
            label="Channel"
            value={channel ?? ""}
            options={[["", "any"], ...setup.channels.map(({ slug }) => [slug, slug] as const)]}
          />
          <Select
            name="state"
            label="State"
            value={state ?? ""}
            options={[
              ["", "any"],
              ...DELIVERY_STATES.map((state) => [state, DELIVERY_LABELS[state][0]] as const),
            ]}
          />
          {incident !== null && <input type="hidden" name="incident" value={incident} />}
        </FilterForm>
        {page.deliveries.length > 0
          ? (
            <div class="panel">
              <DeliveryTable
                label="Deliveries"
                deliveries={page.deliveries}
                isAdmin={setup.isAdmin}
                page={DELIVERIES_PATH + queryText(parameters)}
              />
            </div>
          )
          : (
            <Empty title={page.next === null ? "No deliveries" : "None of the latest deliveries"}>
              <p>
                {isFiltered ? <a href={DELIVERIES_PATH}>Show all deliveries</a> : (
                  <>
                    Each message about an incident is listed here with its tries.{" "}
                    <a href={CHANNELS_PATH}>Channels</a>
                  </>
                )}
              </p>
            </Empty>
          )}
        <NextPage
          to={page.next === null ? null : DELIVERIES_PATH +
            queryText([...Object.entries(filters), ["cursor", timeCursor(page.next)]])}
        />
      </>
    ),
  });
};

/** Sends a delivery again, and returns to the page that lists it. */
export const submitResend: Handler = async (c, deps) => {
  const id = idInPath(c, "whd");
  const { team } = c.get("principal");
  const sent = id && await deps.deliveries.resend(team, id, madeBy(c, deps));
  return sent === null ? fail(c, NO_SUCH_DELIVERY) : seeOther(ownPage(c.get("form").get("from")));
};
