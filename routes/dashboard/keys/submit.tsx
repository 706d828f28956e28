/** What forms do to keys: make, rotate, revoke. */
import { parseKey } from "../../../domain/teams/new_key.ts";
import { parseRotation } from "../../../domain/teams/rotation.ts";
import { isLive } from "../../../domain/teams/credentials.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { isKeyId, NO_SUCH_KEY } from "../../api/keys/keys.ts";
import { agentPath, KEYS_PATH } from "../layout/paths.ts";
import { seeOther } from "../layout/reply.tsx";
import { Ago, InlineNotice } from "../components/elements.tsx";
import { bodyOf } from "../components/form_fields.tsx";
import { numberOf } from "../components/numbers.ts";
import { keyFields, type KeyForm, showKeyForm } from "./form.tsx";
import { showKey } from "./key_page.tsx";
import { keyPath } from "./paths.ts";
import { type NewSecret, showSecret } from "./secret.tsx";
import { kindLabel, State } from "./labels.tsx";

/** Makes a credential and shows its secret, or the form again. */
export function makeKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const typed = formOf(c.get("form"));
    c.set("renderProblem", (c, problem, headers) => showKeyForm(c, typed, problem, headers));
    const spec = parseKey(bodyOf(keyFields(typed)));
    if (!spec.ok) return fail(c, spec.problem);
    const { team, credentialId } = c.get("principal");
    const made = await credentials.create(team, spec.value, credentialId);
    return showSecret(c, made, { title: `${kindLabel(made.record)} made`, next: backTo(made) });
  };
}

/** What was typed into the form for a new one. */
export function formOf(form: URLSearchParams): KeyForm {
  return {
    kind: form.get("kind") === "ping_token" ? "ping_token" : "api_key",
    name: form.get("name") ?? "",
    scopes: form.getAll("scopes"),
    agent: form.get("agent") ?? "",
  };
}

/** Rotates a credential and shows the new secret, or the form again. */
export function submitRotateKey({ credentials, environment }: AppDeps): Handle {
  return async (c) => {
    const { team, credentialId } = c.get("principal");
    const record = await named(c, credentials);
    if (record === null) return fail(c, NO_SUCH_KEY);
    const hours = c.get("form").get("overlap_hours") ?? "";
    const now = environment.now();
    c.set(
      "renderProblem",
      (c, problem, headers) =>
        showKey(c, { record, now, confirm: "rotate", problem, hours }, headers),
    );
    const overlap = parseRotation(bodyOf({ overlap_hours: numberOf(hours) }));
    if (!overlap.ok) return fail(c, overlap.problem);
    const rotated = await credentials.rotate(team, record.id, overlap.value, credentialId);
    if (rotated === null) return fail(c, NO_SUCH_KEY);
    if (!rotated.ok) return fail(c, rotated.problem);
    const old = await credentials.read(team, record.id);
    return showSecret(c, rotated.value, {
      title: `${kindLabel(rotated.value.record)} rotated`,
      next: backTo(rotated.value),
      children: old === null ? null : <OldSecret of={old} now={environment.now()} />,
    });
  };
}

function OldSecret({ of, now }: { readonly of: ListedCredential; readonly now: number }) {
  const { endsAt } = of;
  return (
    <InlineNotice kind="good">
      {endsAt !== undefined && isLive(of, now)
        ? (
          <p>
            The old secret goes on and ends <Ago at={endsAt} now={now} />: exchange it before.
          </p>
        )
        : (
          <p>
            The old secret does not work any more: <State of={of} now={now} />.
          </p>
        )}
    </InlineNotice>
  );
}

/** Who loads the page of a secret again comes to its key: the secret is gone. */
export const backToKey: Handle = (c) => seeOther(keyPath(c.req.param("id") ?? ""));

/** Revokes a credential and goes to its page. */
export function submitRevokeKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const { team, credentialId } = c.get("principal");
    const id = c.req.param("id") ?? "";
    const record = isKeyId(id) ? await credentials.revoke(team, id, credentialId) : null;
    return record === null ? fail(c, NO_SUCH_KEY) : seeOther(keyPath(record.id));
  };
}

async function named(
  c: RequestContext,
  credentials: AppDeps["credentials"],
): Promise<ListedCredential | null> {
  const id = c.req.param("id") ?? "";
  return isKeyId(id) ? await credentials.read(c.get("principal").team, id) : null;
}

/** Where one goes on behind a secret. */
function backTo({ record: { grant } }: NewSecret) {
  return grant.kind === "ping_token"
    ? (
      <>
        I have copied it: <a href={agentPath(grant.agent)}>to the agent</a>
      </>
    )
    : (
      <>
        I have copied it: <a href={KEYS_PATH}>to all keys</a>
      </>
    );
}
