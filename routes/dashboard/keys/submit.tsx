/** Forms that create, rotate and revoke keys. */
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
import { bodyOf, readInteger } from "../components/form_fields.tsx";
import { keyBody, type KeyFields, showKeyForm } from "./form.tsx";
import { showKey } from "./key_page.tsx";
import { keyPath } from "./paths.ts";
import { type NewSecret, showSecret } from "./secret.tsx";
import { KeyState, kindLabel } from "./labels.tsx";

/** Creates a credential and shows its secret, or the form again. */
export function submitNewKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const typed = readFields(c.get("form"));
    c.set("renderProblem", (c, problem, headers) => showKeyForm(c, typed, problem, headers));
    const spec = parseKey(bodyOf(keyBody(typed)));
    if (!spec.ok) return fail(c, spec.problem);
    const { team, credentialId } = c.get("principal");
    const created = await credentials.create(team, spec.value, credentialId);
    return showSecret(c, created, {
      title: `${kindLabel(created.record)} created`,
      next: backTo(created),
    });
  };
}

/** Reads the form for a new credential. */
function readFields(form: URLSearchParams): KeyFields {
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
    const record = await readKey(c, credentials);
    if (record === null) return fail(c, NO_SUCH_KEY);
    const hours = c.get("form").get("overlap_hours") ?? "";
    const now = environment.now();
    c.set(
      "renderProblem",
      (c, problem, headers) =>
        showKey(c, { record, now, confirm: "rotate", problem, hours }, headers),
    );
    const overlap = parseRotation(bodyOf({ overlap_hours: readInteger(hours) }));
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
            The old secret works and expires <Ago at={endsAt} now={now} />: exchange it before.
          </p>
        )
        : (
          <p>
            The old secret does not work any more: <KeyState of={of} now={now} />.
          </p>
        )}
    </InlineNotice>
  );
}

/** Redirects a reload of a secret's page to its key, because a secret is shown once. */
export function backToKey(): Handle {
  return (c) => seeOther(keyPath(c.req.param("id") ?? ""));
}

/** Revokes a credential and redirects to its page. */
export function submitRevokeKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const { team, credentialId } = c.get("principal");
    const id = c.req.param("id") ?? "";
    const record = isKeyId(id) ? await credentials.revoke(team, id, credentialId) : null;
    return record === null ? fail(c, NO_SUCH_KEY) : seeOther(keyPath(record.id));
  };
}

async function readKey(
  c: RequestContext,
  credentials: AppDeps["credentials"],
): Promise<ListedCredential | null> {
  const id = c.req.param("id") ?? "";
  return isKeyId(id) ? await credentials.read(c.get("principal").team, id) : null;
}

/** Links to the page to open after a secret. */
function backTo({ record: { grant } }: NewSecret) {
  const [to, name] = grant.kind === "ping_token"
    ? [agentPath(grant.agent), "to the agent"]
    : [KEYS_PATH, "to all keys"];
  return (
    <>
      I have copied it: <a href={to}>{name}</a>
    </>
  );
}
