/** `/v1/keys`: create, list and revoke a team's credentials. */
import type { CredentialRecord } from "../domain/credentials.ts";
import type { Problem } from "../domain/errors.ts";
import { judgeId } from "../domain/run/ids.ts";
import { rawOf } from "../domain/input/json.ts";
import { parseKey } from "../domain/input/parse.ts";
import { formatInstant } from "../domain/time.ts";
import { answer, fail } from "./answer.ts";
import type { AppDeps, Handle } from "./context.ts";

export function createKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const spec = parseKey(c.get("body"));
    if (!spec.ok) return fail(c, spec.problem);
    const { team } = c.get("principal");
    const { record, secret } = await credentials.create(team, spec.value);
    const json = rawOf({ ...keyFields(record), secret });
    return answer(c, 201, json, { "Cache-Control": "no-store" });
  };
}

export function listKeys({ credentials }: AppDeps): Handle {
  return async (c) => {
    const records = await credentials.list(c.get("principal").team);
    return answer(c, 200, rawOf({ keys: records.map(keyFields) }));
  };
}

export function revokeKey({ credentials }: AppDeps): Handle {
  return async (c) => {
    const { team } = c.get("principal");
    const id = c.req.param("id") ?? "";
    // Any other text names no key, and may be longer than the store takes.
    const record = judgeId("key", id) === "valid" ? await credentials.revoke(team, id) : null;
    return record === null ? fail(c, NO_SUCH_KEY) : answer(c, 200, rawOf(keyFields(record)));
  };
}

const NO_SUCH_KEY: Problem = { code: "not_found", message: "No such key: list them to see ids" };

/** A credential without its secret. */
function keyFields({ id, name, grant, createdAt, revokedAt }: CredentialRecord) {
  return {
    id,
    kind: grant.kind,
    name,
    ...(grant.kind === "api_key" ? { scopes: grant.scopes } : { agent: grant.agent }),
    created_at: formatInstant(createdAt),
    revoked_at: revokedAt === null ? null : formatInstant(revokedAt),
  };
}
