/** A dashboard page: path, access, menu entry. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import type { Requirement } from "../../../domain/teams/credentials.ts";
import type { Handler } from "../../http/admission.ts";
import type { MenuEntry } from "../../http/context.ts";

/** A page, as its folder exports it to the table of pages. */
export interface DashboardPage {
  readonly path: string;
  /** Menu entry, with its access if that is stricter; absent for a page that other pages link to. */
  readonly menu?: Pick<MenuEntry, "name" | "area"> & Partial<MenuEntry>;
  /** Requirement for a session; `null` for public pages. */
  readonly access: Requirement | null;
  readonly handler: Handler;
  /** Forms of the page, and pages that only it links to. */
  readonly routes?: readonly PageRoute[];
}

/** A form of a page, or a page below it. */
export interface PageRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Requirement for a session, if it differs from the page's. */
  readonly access?: Requirement | undefined;
  readonly handler: Handler;
}

/** A page below another one, with the same access. */
export function get(path: string, handler: Handler): PageRoute {
  return { method: "GET", path, handler };
}

/** A form of a page; by default with the page's access. */
export function post(path: string, handler: Handler, access?: Requirement): PageRoute {
  return { method: "POST", path, handler, access };
}

export interface View {
  /** The title of the browser's tab. */
  readonly title: string;
  /** The heading of the page; the title when absent. */
  readonly heading?: string;
  readonly body: Child;
  /** One grey sentence next to the heading. */
  readonly lead?: Child;
  /** Shown at the right of the heading: links or buttons. */
  readonly aside?: Child;
  /** Shown above the heading: the way to this page. */
  readonly crumbs?: Child;
  /** True for a page without the top bar: the sign-in form. */
  readonly isBare?: boolean;
  /** HTTP status; 200 when absent. */
  readonly status?: number;
  /** The reason a form was rejected; it determines the status. */
  readonly problem?: Problem | null;
  /** Seconds until a browser without scripts reloads the page; never when absent. */
  readonly reloadSeconds?: number;
}
