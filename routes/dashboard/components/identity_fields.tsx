/** The fields by which forms of rules, channels and checks name their object. */
import type { Problem } from "../../../domain/core/errors.ts";
import { Field } from "./form_fields.tsx";
import type { Texts } from "./texts.ts";

interface IdentityProps {
  /** Texts of the form: `slug` and `version` are empty for a new object. */
  readonly texts: Texts;
  /** True if the object is stored: then its name cannot change. */
  readonly exists: boolean;
  /** Example of a name. */
  readonly placeholder: string;
  readonly problem: Problem | null;
}

export function IdentityFields({ texts, exists, placeholder, problem }: IdentityProps) {
  const { slug = "", version = "" } = texts;
  return (
    <>
      <input type="hidden" name="version" value={version} />
      {exists ? <input type="hidden" name="slug" value={slug} /> : (
        <Field
          name="slug"
          label="Name"
          value={slug}
          problem={problem}
          required
          maxlength={64}
          placeholder={placeholder}
          hint="Lower-case letters, digits, dots, dashes and underscores."
        />
      )}
    </>
  );
}
