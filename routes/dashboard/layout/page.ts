/** A page of the dashboard: its place, who may see it, its entry in the menu, its styles. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import type { Requirement } from "../../../domain/teams/credentials.ts";
import type { Handle } from "../../http/context.ts";
import type { HandlerDeps } from "../../http/admission.ts";

/** A page, as its folder exports it for the table of pages. */
export interface DashboardPage {
  readonly path: string;
  /** Its name in the menu; absent for a page that others lead to. */
  readonly menu?: string;
  /** Who sees it in the menu, where those are fewer than may open it. */
  readonly menuAccess?: Requirement;
  /** The requirement for a session; `null` for pages open to everybody. */
  readonly access: Requirement | null;
  readonly handler: PageHandler;
  /** Style sheets, in the order of their rules. */
  readonly styles?: readonly string[];
  /** Its forms, and the pages that only it leads to. */
  readonly routes?: readonly PageRoute[];
}

/** A form of a page, or a page below it. */
export interface PageRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** The requirement for a session, where it differs from that of the page. */
  readonly access?: Requirement;
  readonly handler: PageHandler;
}

/** A page below another one, with its access. */
export function get(path: string, handler: PageHandler): PageRoute {
  return { method: "GET", path, handler };
}

/** A form of a page; with the access of the page unless given. */
export function post(path: string, handler: PageHandler, access?: Requirement): PageRoute {
  return { method: "POST", path, handler, ...(access === undefined ? {} : { access }) };
}

/** Makes the handler of a route. Pages and the API share one admission, so that its bounds hold for both. */
export type PageHandler = (deps: HandlerDeps) => Handle;

/** The content of a page. */
export interface View {
  /** The heading of the page and the title of its tab. */
  readonly title: string;
  readonly body: Child;
  /** Shown next to the heading: links, buttons, or what the page is limited to. */
  readonly aside?: Child;
  /** 200 when absent. */
  readonly status?: number;
  /** Why a form on the page was refused: the status is that of the problem. */
  readonly problem?: Problem | null;
  /** Seconds after which a browser without scripts reloads the page; never when absent. */
  readonly reloadSeconds?: number;
}
