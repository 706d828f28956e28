/** `/dashboard/sign-in` and `/dashboard/sign-out`. */
import type { Parsed, Problem } from "../../../domain/core/errors.ts";
import {
  INVALID_CREDENTIAL,
  parseSecret,
  refusalOf,
  suspensionOf,
} from "../../../domain/teams/credentials.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { atFixedTime } from "../../http/credential.ts";
import { networkOfRequest } from "../../http/address.ts";
import { limitRate } from "../../http/rate.ts";
import { cookieOf, tokenOf } from "../../http/session.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { DASHBOARD_PATH, SIGN_IN } from "../layout/paths.ts";
import type { DashboardPage } from "../layout/page.ts";
import { seeOther, showPage } from "../layout/reply.tsx";

/** Paths of the dashboard, which the form may lead back to, in characters that a header may hold. */
const OWN_PAGE = /^\/dashboard(?:[/?][\x21-\x5b\x5d-\x7e]*)?$/;

/** The form for keys, signing in and signing out. */
export const signInPage: DashboardPage = {
  path: SIGN_IN,
  access: null,
  handler: showSignIn,
  routes: [
    { method: "POST", path: SIGN_IN, handler: signIn },
    {
      method: "POST",
      path: `${DASHBOARD_PATH}/sign-out`,
      access: teamKeyOrOperator("read"),
      handler: signOut,
    },
  ],
};

/** Shows the form, or redirects those who have just signed in or follow the link that the service printed. */
function showSignIn(deps: AppDeps): Handle {
  const begin = beginner(deps);
  return async (c) => {
    const { code, next: wanted, kept } = c.req.query();
    const next = ownPage(wanted);
    if (code !== undefined) {
      const secret = secretOfLink(deps, c, code);
      if (secret === null) return showForm(c, next, OLD_LINK);
      return await begin(c, { ok: true, value: secret }, next);
    }
    if (kept === undefined) return showForm(c, next, null);
    return tokenOf(c) === null ? showForm(c, next, NO_COOKIE) : seeOther(next);
  };
}

/** Signs in with the key of the form. */
function signIn(deps: AppDeps): Handle {
  const begin = beginner(deps);
  return async (c) => {
    const form = c.get("form");
    const next = ownPage(form.get("next"));
    return await begin(c, parseSecret((form.get("key") ?? "").trim(), deps.region), next);
  };
}

/** Ends the session here and in the browser. */
function signOut({ sessions }: AppDeps): Handle {
  return async (c) => {
    await sessions.end(tokenOf(c) ?? "");
    return seeOther(SIGN_IN, { "Set-Cookie": cookieOf(null) });
  };
}

/**
 * Makes what signs in with a secret, as one request of its team: it hands out the cookie, and has the
 * browser show whether it keeps it before it goes on.
 */
function beginner(deps: AppDeps) {
  const { credentials, sessions } = deps;
  const takeToken = limitRate(deps, "control", { reserve: true });
  return async (c: RequestContext, secret: Parsed<string>, next: string): Promise<Response> => {
    c.set("renderProblem", (c, problem, headers) => showForm(c, next, problem, headers));
    if (!secret.ok) return fail(c, secret.problem);
    const found = credentials.find(secret.value, () => networkOfRequest(c));
    const principal = await atFixedTime(Promise.resolve(found));
    if (principal === null) return fail(c, INVALID_CREDENTIAL);
    c.set("principal", principal);
    const limited = await takeToken(c);
    if (limited !== null) return limited;
    const refused = suspensionOf(principal) ?? refusalOf(principal, teamKeyOrOperator("read"));
    if (refused !== null) return fail(c, refused);
    const kept = new URLSearchParams({ kept: "", next });
    const cookie = cookieOf(await sessions.start(secret.value, principal.team.id));
    return seeOther(`${SIGN_IN}?${kept}`, { "Set-Cookie": cookie });
  };
}

/** Only who sits at this machine has seen the link. */
function secretOfLink({ signInLink }: AppDeps, c: RequestContext, code: string): string | null {
  const remote: Deno.Addr | undefined = c.env?.remoteAddr;
  const isHere = remote !== undefined && "hostname" in remote &&
    /^(127\.|::1$|::ffff:127\.)/.test(remote.hostname);
  return isHere && code === signInLink?.code ? signInLink.secret : null;
}

function ownPage(path: string | null | undefined): string {
  return path !== null && path !== undefined && OWN_PAGE.test(path) ? path : DASHBOARD_PATH;
}

const OLD_LINK: Problem = {
  code: "invalid_credential",
  message: "This link is of an earlier start: use the one that the service printed last, or a key",
};

const NO_COOKIE: Problem = {
  code: "forbidden",
  message: "The browser kept no cookie, so it is not signed in: open the dashboard by https, " +
    "or on this machine in a browser that trusts 127.0.0.1, such as Chrome or Firefox",
};

/** What a person is told in place of what a program is told. */
const UNKNOWN_KEY = "No such key works here: check it for missing characters, or create another";

function showForm(
  c: RequestContext,
  next: string,
  problem: Problem | null,
  headers: Record<string, string> = {},
): Response {
  const message = problem === INVALID_CREDENTIAL ? UNKNOWN_KEY : problem?.message;
  const body = (
    <form class="sign-in" method="post" action={SIGN_IN}>
      {message === undefined ? null : <p role="alert" class="notice bad">{message}.</p>}
      <input type="hidden" name="next" value={next} />
      <label>
        Team key
        <input
          type="password"
          name="key"
          required
          autofocus
          autocomplete="current-password"
          placeholder="apk_…"
          {...(message === undefined ? {} : { "aria-invalid": "true" })}
        />
        <small>
          A key with the scope <code>read</code>, or the operator's. With <code>admin</code>{" "}
          it can also change things.
        </small>
      </label>
      <button type="submit">Sign in</button>
    </form>
  );
  return showPage(c, { title: "Sign in", body, problem }, headers);
}
