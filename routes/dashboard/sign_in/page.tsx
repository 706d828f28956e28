/** `/dashboard/sign-in` and `/dashboard/sign-out`. */
import { type Problem, Refused, unlessRefused } from "../../../domain/core/errors.ts";
import { INVALID_CREDENTIAL, parseSecret } from "../../../domain/teams/credentials.ts";
import { addressOf, type AppDeps, type RequestContext } from "../../http/context.ts";
import { atFixedTime, clientOf, setToken, tokenOf } from "../../http/credential.ts";
import { limitRate } from "../../http/rate.ts";
import { authorize, teamKeyOrOperator } from "../../http/access.ts";
import { DASHBOARD_PATH, ownPage, SIGN_IN } from "../layout/paths.ts";
import {
  type DashboardPage,
  type PageHandler,
  post,
  seeOther,
  type View,
  type Visit,
} from "../layout/page.tsx";
import { brandOf } from "../layout/layout.tsx";

/**
 * Shows the form. Redirects a browser that has just signed in, or that follows the link that the
 * service printed.
 */
const showSignIn: PageHandler = async (visit) => {
  const { c, deps } = visit;
  const { code, next: wanted, kept } = c.req.query();
  const next = ownPage(wanted);
  if (code !== undefined) {
    const secret = secretOfLink(deps, c, code);
    if (secret === null) return viewOf(next, OLD_LINK);
    return await signInWith(visit, () => secret, next);
  }
  if (kept === undefined) return viewOf(next, null);
  return tokenOf(c) === null ? viewOf(next, NO_COOKIE) : seeOther(next);
};

/** Signs in with the submitted key. */
const signIn: PageHandler = (visit) => {
  const form = visit.c.get("form");
  const readKey = () =>
    unlessRefused(
      () => parseSecret((form.get("key") ?? "").trim(), visit.deps.region),
      (problem) => {
        const isWrong = problem === INVALID_CREDENTIAL;
        throw new Refused(isWrong ? { ...problem, message: WRONG_FORM } : problem);
      },
    );
  return signInWith(visit, readKey, ownPage(form.get("next")));
};

/** Ends the session on the server and in the browser. */
const signOut: PageHandler = async ({ c, deps: { sessions } }) => {
  await sessions.end(tokenOf(c) ?? "");
  const response = seeOther(SIGN_IN);
  setToken(response, null);
  return response;
};

/**
 * Signs in with a secret, counted as one request of its team. Sets the cookie, and redirects to a
 * check that the browser kept it.
 */
async function signInWith({ c, deps, onProblem }: Visit, readSecret: () => string, next: string) {
  onProblem((problem) => viewOf(next, problem));
  const secret = readSecret();
  const lookup = deps.credentials.find(secret, () => clientOf(c, secret));
  const authenticate = () => atFixedTime(Promise.resolve(lookup));
  const limits = [limitRate(deps, "control", { reserve: true })];
  const refused = await authorize(teamKeyOrOperator("read"), authenticate, limits)(c);
  if (refused !== null) return refused;
  const response = seeOther(`${SIGN_IN}?${new URLSearchParams({ kept: "", next })}`);
  setToken(response, await deps.sessions.start(secret, c.get("principal").team.id));
  return response;
}

/** Returns the secret of the printed sign-in link, only for requests from this machine. */
function secretOfLink({ signInLink }: AppDeps, c: RequestContext, code: string): string | null {
  const isHere = /^(127\.|::1$|::ffff:127\.)/.test(addressOf(c) ?? "");
  return isHere && code === signInLink?.code ? signInLink.secret : null;
}

const OLD_LINK: Problem = {
  code: "invalid_credential",
  message:
    "This link is from an earlier start: use the one that the service printed last, or a key",
};

const NO_COOKIE: Problem = {
  code: "forbidden",
  message: "The browser kept no cookie, so it is not signed in: open the dashboard by https, " +
    "or on this machine in a browser that trusts 127.0.0.1, such as Chrome or Firefox",
};

/** Replaces the API's message, which is written for programs. */
const UNKNOWN_KEY = "This key is unknown or revoked: ask an admin for another one";

/** Refuses a text that is no key of this service, such as one of a model provider. */
const WRONG_FORM = "This is not a Runledger key: a team key is apk_, a region, and 32 characters " +
  "0-9 a-f, such as apk_eu_0123…";

function viewOf(next: string, problem: Problem | null): View {
  const message = problem === INVALID_CREDENTIAL ? UNKNOWN_KEY : problem?.message;
  const body = [
    brandOf(DASHBOARD_PATH),
    <form class="panel" method="post" action={SIGN_IN}>
      <h1>Sign in</h1>
      {message === undefined ? null : <p role="alert" class="notice bad">{message}.</p>}
      <input type="hidden" name="next" value={next} />
      <label for="key">Team key</label>
      <input
        id="key"
        type="password"
        name="key"
        required
        autofocus
        autocomplete="current-password"
        placeholder="apk_…"
        aria-describedby="key-help"
        aria-invalid={message === undefined ? undefined : "true"}
      />
      <p id="key-help" class="quiet">
        A key with the scope <code>read</code>, or the operator's. With <code>admin</code>{" "}
        it can also change things.
      </p>
      <button type="submit" class="btn main">Sign in</button>
    </form>,
    <aside aria-label="Where to find a key">
      <p>
        <b>First time here?</b> Under{" "}
        <code>deno task dev</code>, the terminal printed a link that signs you in.
      </p>
      <p>
        <b>Lost the key?</b>{" "}
        Only its hash is stored. Ask an admin to create one under Settings, Keys.
      </p>
    </aside>,
  ];
  return { title: "Sign in", body, problem, isBare: true };
}

/** The sign-in form, sign-in and sign-out. */
export const signInPage: DashboardPage = {
  path: SIGN_IN,
  access: null,
  handler: showSignIn,
  routes: [
    post(SIGN_IN, signIn),
    post(`${DASHBOARD_PATH}/sign-out`, signOut, teamKeyOrOperator("read")),
  ],
};
