/** Every page of the dashboard that there is to look at. */
import { Room } from "../../routes/guards/room.ts";
import type { AppDeps } from "../../routes/context.ts";
import { createDashboard } from "../../routes/dashboard/dashboard.ts";
import type { DemoWorld } from "../support/demo_world.ts";

/** Who looks at a page. */
export type Who = "nobody" | "admin" | "operator";

/** One page as it is looked at. */
export interface PageUnderTest {
  /** Names its screenshots. */
  readonly name: string;
  /** Of the dashboard's table; null for what is not in it. */
  readonly route: string | null;
  readonly path: (world: DemoWorld) => string;
  readonly who: Who;
  /** What it answers, 200 when absent. */
  readonly status?: number;
}

/** All of them, some in several states. */
export const PAGES: readonly PageUnderTest[] = [
  { name: "sign-in", route: "/dashboard/sign-in", path: () => "/dashboard/sign-in", who: "nobody" },
  { name: "overview", route: "/dashboard", path: () => "/dashboard", who: "admin" },
  { name: "not-found", route: null, path: () => "/dashboard/nothing", who: "admin", status: 404 },
];

/** Routes that answer with a file, or with the way to a page. */
const NO_PAGES = new Set(["/", "/dashboard/assets/:name"]);

/** Routes of pages, from the dashboard's own table. */
export function pageRoutes(): string[] {
  return createDashboard({} as AppDeps, new Room()).routes
    .filter(({ method, path }) => method === "GET" && !NO_PAGES.has(path))
    .map(({ path }) => path);
}
