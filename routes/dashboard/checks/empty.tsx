/** Shown to a team without checks: one command, and the templates. */
import { Empty, Section } from "../components/elements.tsx";
import { checkCommand, type CommandTarget, FirstCommand } from "../components/first_command.tsx";
import { NEW_CHECK_PATH } from "./paths.ts";
import { Gallery } from "./check_form.tsx";

interface NoChecksProps {
  readonly target: CommandTarget;
  readonly isAdmin: boolean;
}

export function NoChecks({ target, isAdmin }: NoChecksProps) {
  return (
    <>
      <Empty title="No check yet">
        <p>
          A check is an expression that is true for a good run. It judges each run when it ends, and
          again when late events, new prices or scores arrive.
        </p>
        <FirstCommand id="command" text={checkCommand(target)} target={target} scope="admin" />
      </Empty>
      {isAdmin && (
        <Section title="Or begin with a template" aside={<a href={NEW_CHECK_PATH}>Empty form</a>}>
          <Gallery />
        </Section>
      )}
    </>
  );
}
