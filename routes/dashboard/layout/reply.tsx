/** Responses of the dashboard: a page in its layout, or a redirect. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import { ERRORS } from "../../../domain/core/errors.ts";
import { answerText } from "../../http/answer.ts";
import type { RequestContext } from "../../http/context.ts";
import { Layout } from "./layout.tsx";
import type { View } from "./page.ts";

/** Pages load files from this origin only, and submit forms to it only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Icons inlined in the style sheet.
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  // No cache stores a user's page, and the back button shows none after sign-out.
  "Cache-Control": "no-store",
};

/** Responds with a page. */
export function showPage(
  c: RequestContext,
  view: View,
  headers: Record<string, string> = {},
): Response {
  const principal: Principal | undefined = c.get("principal");
  const page = (
    <Layout
      view={view}
      shell={c.get("shell")}
      principal={principal}
      path={c.req.path}
    />
  );
  const all = { ...HEADERS, ...headers };
  const text = `<!DOCTYPE html>${page}\n`;
  return answerText(c, statusOf(view), text, "text/html; charset=UTF-8", all);
}

function statusOf({ status = 200, problem = null }: View): number {
  return problem === null ? status : ERRORS[problem.code].status;
}

/** Redirects the browser to another page, which it requests with GET. */
export function seeOther(path: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: {
      "Location": path,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      ...headers,
    },
  });
}
