/** Several choices of one question. */
import type { Problem } from "../../../domain/core/errors.ts";

interface CheckBoxesProps {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly chosen: readonly string[];
  readonly problem: Problem | null;
  readonly hint?: string;
}

/** Check boxes with one name. A chosen value that is no option is an option of its own. */
export function CheckBoxes({ name, label, options, chosen, problem, hint }: CheckBoxesProps) {
  const unknown = chosen.filter((value) => !options.some(([option]) => option === value));
  const isWrong = problem?.field === name;
  return (
    <fieldset class="choices" aria-invalid={isWrong ? "true" : undefined}>
      <legend>{label}</legend>
      {[...options, ...unknown.map((value) => [value, value] as const)].map(([value, text]) => (
        <label>
          <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} />
          {text}
        </label>
      ))}
      {isWrong && <small class="wrong">{problem.message}</small>}
      {hint !== undefined && <small>{hint}</small>}
    </fieldset>
  );
}
