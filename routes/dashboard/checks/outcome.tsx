/** Outcomes of checks: their words, their icons, and their severities. */
import type { CheckSeverity, CheckStatus } from "../../../domain/runs/check_result.ts";
import { Icon, type IconName } from "../components/icons.tsx";

/** The word, the icon and the class of each outcome. */
export const OUTCOMES: Readonly<Record<CheckStatus, readonly [string, IconName, string]>> = {
  fail: ["failed", "bad", "st-bad"],
  error: ["not decided", "warn", "st-warn"],
  skipped: ["skipped", "off", "st-off"],
  pass: ["passed", "ok", "st-ok"],
};

/** The icon of an outcome; with `isIcon` its word is for screen readers only. */
export function Outcome({ of, isIcon = false }: {
  readonly of: CheckStatus;
  readonly isIcon?: boolean;
}) {
  const [word, icon, name] = OUTCOMES[of];
  return (
    <span class={`st ${name}`}>
      <Icon name={icon} />
      <span class={isIcon ? "sr" : undefined}>{word}</span>
    </span>
  );
}

/** What a failure means, as a tag. */
export function SeverityTag({ of }: { readonly of: CheckSeverity }) {
  const name = { fail: "tag bad", warn: "tag warn", info: "tag" }[of];
  return <span class={name}>{of}</span>;
}
