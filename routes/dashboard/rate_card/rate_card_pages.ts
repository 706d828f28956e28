/** The pages of the rate card; all are for keys with the scope `admin`, as its calls are. */
import type { AppDeps, Handle } from "../../context.ts";
import { RATE_CARD } from "../frame/paths.ts";
import { showRateCard } from "./card_page.tsx";
import { askDeleteRate, deleteRatePage } from "./delete_page.tsx";
import { showJob } from "./job_page.tsx";
import { showMatch } from "./match_page.tsx";
import { showRateForm, storeRate } from "./rate_form.tsx";
import { MATCH, NEW_RATE, REPRICE } from "./rate_paths.ts";
import { beginRepricePage, showReprices } from "./reprice_page.tsx";

/** Method, path and handler of each page. */
export function rateCardPages(
  deps: AppDeps,
): readonly (readonly ["GET" | "POST", string, Handle])[] {
  return [
    ["GET", RATE_CARD, showRateCard(deps)],
    ["POST", RATE_CARD, storeRate(deps)],
    ["GET", MATCH, showMatch(deps)],
    ["GET", NEW_RATE, showRateForm(deps)],
    ["GET", `${RATE_CARD}/rows/:id/delete`, askDeleteRate(deps)],
    ["POST", `${RATE_CARD}/rows/:id/delete`, deleteRatePage(deps)],
    ["GET", REPRICE, showReprices(deps)],
    ["POST", REPRICE, beginRepricePage(deps)],
    ["GET", `${REPRICE}/:id`, showJob(deps)],
  ];
}
