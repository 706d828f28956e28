/** Inputs inside their labels, described by a table. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { LabeledInput } from "./form_fields.tsx";
import type { Texts } from "./texts.ts";

export type InputField = readonly [
  name: string,
  label: string,
  attributes?: Readonly<Record<string, string | boolean>>,
  hint?: Child,
];

interface LabeledInputsProps {
  readonly fields: readonly InputField[];
  readonly texts: Texts;
  readonly problem: Problem | null;
  /** Begins the names of the fields. */
  readonly prefix?: string;
}

export function LabeledInputs({ fields, texts, problem, prefix = "" }: LabeledInputsProps) {
  return (
    <>
      {fields.map(([name, label, attributes = {}, hint]) => (
        <LabeledInput
          name={prefix + name}
          value={texts[name] ?? ""}
          {...{ label, attributes, hint, problem }}
        />
      ))}
    </>
  );
}
