/**
 * `/dashboard/rate-card/rows/:id/delete`: shows an own row and asks for confirmation to delete it.
 */
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { NO_SUCH_ROW } from "../../api/rate_card/rate_card.ts";
import { RATE_CARD_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { deletePath, repricePath } from "./paths.ts";
import { RateTable } from "./rate_table.tsx";

/** Shows the row and asks for confirmation. */
export function askDeleteRate({ rateCards }: AppDeps): Handle {
  return async (c) => {
    const rates = await rateCards.rows(c.get("principal").team);
    const rate = rates.find(({ row }) => row.id === c.req.param("id"));
    if (rate === undefined) return fail(c, NO_SUCH_ROW);
    return showPage(c, {
      title: "Delete an own row?",
      body: (
        <form method="post" action={deletePath(rate.row.id)}>
          <RateTable
            label="The row"
            lastName="Note"
            rows={[{ row: rate.row, last: rate.note ?? "" }]}
          />
          <p>
            Calls that come in from now on are priced by what else the card has for this model, or
            cost $0. What is stored stays as it is until it is repriced.
          </p>
          <div class="actions">
            <button type="submit">Delete the row</button>
            <a href={RATE_CARD_PATH} role="button" class="secondary outline">Keep it</a>
          </div>
        </form>
      ),
    });
  };
}

/** Deletes the row and redirects to the form that reprices its calls. */
export function submitDeleteRate({ rateCards }: AppDeps): Handle {
  return async (c) => {
    const { team, credentialId } = c.get("principal");
    const deleted = await rateCards.delete(team, c.req.param("id") ?? "", credentialId);
    if (deleted === null) return fail(c, NO_SUCH_ROW);
    return seeOther(repricePath({ model: deleted.row.model, provider: null }, "deleted"));
  };
}
