/** Fields that responses about all kinds of configured objects share. */
import { z } from "zod";
import { CONFIG_SLUG, type ConfigObject } from "../../../domain/config/objects.ts";
import { countValue, idValue, instantValue, textValue, wire } from "../../openapi/wire.ts";

/** A slug of an object. */
export const configSlug = z.string().meta({ pattern: CONFIG_SLUG.source });

/** A list of texts. */
export const textsValue = wire<readonly string[]>(z.array(z.string()).readonly());

/** The slug of an object, as first field. */
export const SLUG_FIELD = {
  slug: wire<string>(configSlug)<ConfigObject<unknown>>("slug"),
};

/** Returns the fields of a stored object before its settings. */
export function headFields(prefix: string) {
  return {
    ...SLUG_FIELD,
    id: idValue(prefix)<ConfigObject<unknown>>(({ id }) => id ?? ""),
    version: countValue<ConfigObject<unknown>>("version", "Number of the version, from 1."),
  };
}

/** Fields of a stored object after its settings. */
export const TAIL_FIELDS = {
  created_at: instantValue<ConfigObject<unknown>>("createdAt"),
  updated_at: instantValue<ConfigObject<unknown>>("updatedAt", "Last change."),
  updated_by: textValue<ConfigObject<unknown>>(
    ({ updatedBy }) => updatedBy ?? "",
    "Id of the credential that made it.",
  ),
};
