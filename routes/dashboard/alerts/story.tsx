/** The story of an incident: its timeline in plain words, newest first. */
import type { Child } from "hono/jsx";
import type { Incident, TimelineEntry } from "../../../domain/alerts/incident.ts";
import type { ResolvedBy } from "../../../domain/channels/message.ts";
import { runPath } from "../layout/paths.ts";
import { Actor, type ActorNames } from "../keys/labels.tsx";
import { Section } from "../components/elements.tsx";
import { formatCount, listed } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { At } from "../components/time.tsx";
import { countText } from "./labels.tsx";

/** Entries shown before the others are folded. */
const UNFOLDED = 12;

interface StoryProps {
  readonly incident: Incident;
  readonly names: ActorNames;
}

export function IncidentStory({ incident, names }: StoryProps) {
  const entries = incident.timeline.toReversed().map((entry) => (
    <Entry entry={entry} incident={incident} names={names} />
  ));
  return (
    <Section title="Story">
      <ol class="story" aria-label="Story">{entries.slice(0, UNFOLDED)}</ol>
      {entries.length > UNFOLDED && (
        <details>
          <summary>{formatCount(entries.length - UNFOLDED)} earlier</summary>
          <ol class="story" aria-label="Earlier entries">{entries.slice(UNFOLDED)}</ol>
        </details>
      )}
    </Section>
  );
}

type EntryProps = StoryProps & { readonly entry: TimelineEntry };

function Entry(props: EntryProps) {
  const [icon, name] = MARKS[props.entry.what];
  return (
    <li>
      <At at={props.entry.at} />
      <span class={`st ${name}`}>
        <Icon name={icon} />
      </span>
      <span>
        <Sentence {...props} />
      </span>
    </li>
  );
}

/** The icon and the class of each entry. */
const MARKS: Readonly<Record<TimelineEntry["what"], readonly [IconName, string]>> = {
  opened: ["bell", "st-bad"],
  repeated: ["bad", "st-bad"],
  notified: ["send", "st-off"],
  silenced: ["mute", "st-off"],
  acknowledged: ["user", "st-off"],
  resolved: ["ok", "st-ok"],
  left_out: ["log", "st-off"],
};

/** What resolved an incident. */
export const RESOLVED_LABELS: Readonly<Record<ResolvedBy, string>> = {
  condition: "its condition is no longer true",
  quiet: "nothing happened for a day",
  hand: "by hand",
  rule: "its rule was changed, disabled or deleted",
  paused: "the monitor was paused",
};

/** What a run did again, by kind of the rule. */
const REPEATED_LABELS: ReadonlyMap<string, string> = new Map([
  ["run_failed", "A run failed"],
  ["check_failed", "A run failed a check"],
]);

function Sentence({ entry, incident, names }: EntryProps): Child {
  switch (entry.what) {
    case "opened":
      return <>{openedText(countText({ kind: incident.kind, count: entry.count }))}</>;
    case "repeated":
      return entry.run === null
        ? <>It happened again</>
        : <a href={runPath(entry.run)}>{REPEATED_LABELS.get(incident.kind) ?? "Another run"}</a>;
    case "notified":
      return <>Message for {listed(entry.channels, 5)}</>;
    case "silenced":
      return <>A silence held the message for {listed(entry.channels, 5)} back</>;
    case "acknowledged":
      return (
        <>
          Acknowledged by <Actor id={entry.by} name={names.get(entry.by) ?? null} />
          <Note of={entry.note} />
        </>
      );
    case "resolved":
      return (
        <>
          Resolved: {entry.by === null ? RESOLVED_LABELS[entry.resolvedBy] : (
            <>
              by <Actor id={entry.by} name={names.get(entry.by) ?? null} />
            </>
          )}
          <Note of={entry.note} />
        </>
      );
    case "left_out":
      return <>{formatCount(entry.entries)} more, which are not kept</>;
  }
}

function openedText(count: string | null): string {
  return count === null ? "Opened" : `Opened after ${count}`;
}

function Note({ of }: { readonly of: string | null }) {
  return of === null ? null : <>: “{of}”</>;
}
