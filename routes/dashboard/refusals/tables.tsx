/** Tables of rejected calls: by reason, and the latest with their message. */
import { REFUSAL_LIMITS as KEPT } from "../../../domain/core/limits.ts";
import type { Refusal, RefusalGroup } from "../../../domain/refusals/refusals.ts";
import { Ago, Wide } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";

/**
 * Shows how often each reason came up, the most frequent first. Agents are no links: one whose calls were
 * all rejected has no page.
 */
export function KindsTable({ kinds }: { readonly kinds: readonly RefusalGroup[] }) {
  return (
    <section>
      <h2>Reasons</h2>
      <Wide label="Reasons">
        <table class="roomy folding">
          <caption class="soft">Of this period, the most frequent first.</caption>
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Field</th>
              <th scope="col">Agent</th>
              <th scope="col">Client</th>
              <th scope="col" class="number">Requests</th>
            </tr>
          </thead>
          <tbody>
            {kinds.map((kind) => (
              <tr>
                <th scope="row">
                  <code>{kind.code}</code>
                </th>
                <td data-before="field">{kind.field ?? "–"}</td>
                <td data-before="agent">{kind.agent ?? "–"}</td>
                <td data-before="client">{kind.userAgent ?? "–"}</td>
                <td class="number" data-unit="requests">{formatCount(kind.count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}

interface Latest {
  readonly latest: readonly Refusal[];
  readonly nowMs: number;
}

/** Shows the latest calls with what they were answered. */
export function LatestTable({ latest, nowMs }: Latest) {
  return (
    <section>
      <h2>Latest</h2>
      <Wide label="Latest">
        <table class="roomy folding">
          <caption class="soft">
            Up to {KEPT.latest} of the last {KEPT.days}{" "}
            days, newest first. Of calls that exceed the request rate only the first of each minute
            are listed.
          </caption>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Request</th>
              <th scope="col">Answer</th>
              <th scope="col">Agent</th>
              <th scope="col">Client</th>
              <th scope="col">X-Request-Id</th>
            </tr>
          </thead>
          <tbody>
            {latest.map((refusal) => (
              <tr>
                <td>
                  <Ago at={refusal.at} now={nowMs} />
                </td>
                <td>
                  <code>{refusal.route}</code>
                </td>
                <td class="whole">
                  <code>{refusal.code}</code> {refusal.message}
                </td>
                <td data-before="agent">{refusal.agent ?? "–"}</td>
                <td data-before="client">{refusal.userAgent ?? "–"}</td>
                <td>
                  <code>{refusal.requestId}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}
