/** `/v1/keys`: create, list, rotate and revoke a team's credentials. */
import type { CredentialRecord, Principal } from "../../../domain/teams/credentials.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { judgeId } from "../../../domain/core/ids.ts";
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import { parseKey } from "../../../domain/teams/new_key.ts";
import { parseKeysQuery } from "../../../domain/teams/key_list.ts";
import { parseRotation } from "../../../domain/teams/rotation.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";

export function createKey(deps: AppDeps): Handle {
  return (c) => answerNewKey(deps, c, c.get("principal").team);
}

/** Creates the credential of the body for a team, and shows its secret this once. */
export async function answerNewKey(
  { credentials }: AppDeps,
  c: RequestContext,
  team: Pick<Principal["team"], "id">,
): Promise<Response> {
  const spec = parseKey(c.get("body"));
  if (!spec.ok) return fail(c, spec.problem);
  const { credentialId } = c.get("principal");
  const made = await credentials.create(team, spec.value, credentialId);
  return answerSecret(c, rawOf(newKeyFields(made)));
}

/** Answers with a secret, which nobody on the way may keep. */
export function answerSecret(c: RequestContext, json: RawJson): Response {
  return answer(c, 201, json, { "Cache-Control": "no-store" });
}

export function listKeys({ credentials }: AppDeps): Handle {
  return async (c) => {
    const query = parseKeysQuery(queryOf(c), keyIdOf);
    if (!query.ok) return fail(c, query.problem);
    const { records, next } = await credentials.list(c.get("principal").team, query.value);
    const json = rawOf({
      keys: records.map(({ lastUsedAt, ...record }) => ({
        ...keyFields(record),
        last_used_at: instant(lastUsedAt),
      })),
      cursor: next === null ? null : encodeCursor(next),
    });
    return answer(c, 200, json);
  };
}

export function handleRotateKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const overlap = parseRotation(c.get("body"));
    if (!overlap.ok) return fail(c, overlap.problem);
    const { team, credentialId } = c.get("principal");
    const id = c.req.param("id") ?? "";
    const rotated = isKeyId(id)
      ? await credentials.rotate(team, id, overlap.value, credentialId)
      : null;
    if (rotated === null) return fail(c, NO_SUCH_KEY);
    if (!rotated.ok) return fail(c, rotated.problem);
    return answerSecret(c, rawOf(newKeyFields(rotated.value)));
  };
}

export function handleRevokeKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const { team, credentialId } = c.get("principal");
    const id = c.req.param("id") ?? "";
    const record = isKeyId(id) ? await credentials.revoke(team, id, credentialId) : null;
    return record === null ? fail(c, NO_SUCH_KEY) : answer(c, 200, rawOf(keyFields(record)));
  };
}

/** Any other text names no key, and may be longer than the store takes. */
export function isKeyId(text: string): boolean {
  return judgeId("key", text) === "valid";
}

/** The place that a cursor of the list stands for, or null. */
export function keyIdOf(cursor: string): string | null {
  const id = decodeCursor(cursor);
  return id !== null && isKeyId(id) ? id : null;
}

/** The same bytes for a key that never was and one of another team. */
export const NO_SUCH_KEY: Problem = {
  code: "not_found",
  message: "No such key: list them to see ids",
};

/** A new credential with its secret. */
export function newKeyFields(
  { record, secret }: { readonly record: CredentialRecord; readonly secret: string },
) {
  return { ...keyFields(record), secret };
}

/** A credential without its secret. */
function keyFields(record: CredentialRecord) {
  const { id, name, grant, createdAt, revokedAt, endsAt, replacedBy, replaces } = record;
  return {
    id,
    kind: grant.kind,
    name,
    ...(grant.kind === "api_key" ? { scopes: grant.scopes } : { agent: grant.agent }),
    created_at: formatInstant(createdAt),
    revoked_at: instant(revokedAt),
    ends_at: instant(endsAt ?? null),
    replaced_by: replacedBy ?? null,
    replaces: replaces ?? null,
  };
}

function instant(ms: number | null): string | null {
  return ms === null ? null : formatInstant(ms);
}
