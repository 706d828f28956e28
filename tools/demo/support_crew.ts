/** The support crew of the samples: four agents that answer tickets and refund customers. */
import { type ChatMessage, type SampleContext, SampleRun } from "./sample_run.ts";

/** Ending of a ticket. `broken` fails deep inside, in the payments ledger. */
export type TicketEnding = "refunded" | "answered" | "broken";

/** The agents of the crew; the first one starts the others. */
export const CREW = {
  main: "support-crew",
  research: "order-research",
  refund: "refund-agent",
  payments: "payments-writer",
} as const;

const MODELS = { main: "anthropic/claude-sonnet-4-20250514", small: "openai/gpt-4o-mini" } as const;

/** Error of the ledger of payments while it is down. */
const LEDGER_DOWN = "502 from the payments ledger: upstream connect error, reset before headers";

const SYSTEM: ChatMessage = {
  role: "system",
  content: `You answer support tickets for **Northwind**.

- Look up the order before you promise anything.
- Refund at most **$250** without a person.
- Answer in the customer's language, in five sentences at most.`,
};

const PRODUCTS = ["Trail lamp 400", "Merino jacket", "Camp stove", "Rain cover 60 l"] as const;

const COMPLAINTS = [
  "was charged twice",
  "arrived with a broken strap",
  "was returned two weeks ago, but not refunded",
  "never arrived",
] as const;

/** A ticket about one order. */
interface Ticket {
  readonly number: number;
  readonly order: string;
  readonly product: string;
  readonly complaint: string;
  readonly usd: number;
}

/** Works on a ticket from its arrival to the answer. */
export function answerTicket(
  context: SampleContext,
  startMs: number,
  { ending, customer }: { readonly ending: TicketEnding; readonly customer: string },
): void {
  const { random } = context;
  const ticket: Ticket = {
    number: random.int(40_000, 49_999),
    order: `A-${random.int(10_000, 19_999)}`,
    product: random.pick(PRODUCTS),
    complaint: random.pick(COMPLAINTS),
    usd: random.int(2_900, 24_900) / 100,
  };
  const run = new SampleRun(context, startMs, {
    agent: CREW.main,
    customer_id: customer,
    feature: "support",
    goal: `Ticket ${ticket.number}: ${ticket.product} ${ticket.complaint}`,
    metadata: { ticket: ticket.number, order: ticket.order, channel: "email" },
  });
  const question: ChatMessage = {
    role: "user",
    content: `Hello, my order **${ticket.order}** (${ticket.product}) ${ticket.complaint}. ` +
      "Can you help?",
  };
  run.log(`Ticket ${ticket.number} from ${customer}`);
  const [crmCall, messages] = [run.newCallId(), [SYSTEM, question]];
  const asks = toolRequest(crmCall, "find_customer", { customer, order: ticket.order });
  run.llm({ model: MODELS.main, more: 1_450, messages, answer: asks });
  const profile = { customer, since: 2_021, orders: random.int(2, 40), open_tickets: 1 };
  const customerCall = { name: "find_customer", args: { customer, order: ticket.order } };
  run.tool({ ...customerCall, tookMs: random.int(90, 400), result: profile }, crmCall);
  const known = [...messages, asks, toolResult(crmCall, profile)];
  const order = researchOrder(run, ticket, customer);
  const hasRefund = ending === "answered" || refund(run, ticket, { ending, customer });
  if (!hasRefund) {
    run.log(`Ticket ${ticket.number} goes to a person`, "error");
    run.finish({
      status: "failed",
      output: { error: `No refund for ${ticket.order}: ${LEDGER_DOWN}`, handed_to: "people" },
      scores: { resolved: false },
    });
    return;
  }
  const answer = answerOf(ticket, ending);
  run.llm({ model: MODELS.main, more: 1_450, messages: [...known, order], answer });
  run.tool({
    name: "send_answer",
    args: { ticket: ticket.number },
    tookMs: random.int(120, 500),
    result: { sent: true },
  });
  run.finish({
    status: "success",
    output: { answer: answer.content, refunded_usd: ending === "refunded" ? ticket.usd : 0 },
    scores: { resolved: true, politeness: random.int(82, 99) / 100 },
  });
}

function toolRequest(id: string, name: string, args: unknown): ChatMessage {
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
  return { role: "assistant", content: "", tool_calls: [call] };
}

function toolResult(id: string, result: unknown): ChatMessage {
  return { role: "tool", tool_call_id: id, content: JSON.stringify(result) };
}

function answerOf({ order, product, usd }: Ticket, ending: TicketEnding): ChatMessage {
  const money = `$${usd.toFixed(2)}`;
  const content = ending === "refunded"
    ? `I am sorry for the trouble with your **${product}**.

| Order | Refund | On your account |
| --- | --- | --- |
| ${order} | ${money} | in 3 to 5 days |

You do not need to send anything back.`
    : `Your **${product}** is on its way again:

1. The carrier found the parcel of order ${order} this morning.
2. It arrives on the next working day.
3. If it does not, reply to this mail and we refund ${money} at once.`;
  return { role: "assistant", content };
}

/** Finds out what happened to the order; returns what the crew reads of it. */
function researchOrder(crew: SampleRun, ticket: Ticket, customer: string): ChatMessage {
  const { random } = crew;
  const run = crew.child({
    agent: CREW.research,
    customer_id: customer,
    feature: "support",
    goal: `What happened to order ${ticket.order}?`,
  });
  for (const name of ["read_order", "track_parcel"]) {
    const args = { order: ticket.order };
    // The carrier is slow now and then; the second try works.
    if (name === "track_parcel" && random.chance(0.2)) {
      run.tool({ name, args, tookMs: 3_000, error: "Timeout after 3 s" });
      run.wait(500);
    }
    const result = { state: "delivered", product: ticket.product, usd: ticket.usd };
    run.tool({ name, args, tookMs: random.int(80, 900), result });
  }
  const content = `Order ${ticket.order} ${ticket.complaint}: the customer is right.`;
  const summary: ChatMessage = { role: "assistant", content };
  const task: ChatMessage = { role: "user", content: `Summarize order ${ticket.order}.` };
  run.llm({ model: MODELS.small, more: random.int(700, 1_900), messages: [task], answer: summary });
  run.finish({ status: "success", output: { summary: content } });
  crew.nowMs = run.nowMs;
  return { role: "user", content: `Research: ${content}` };
}

/** Refunds the order through an agent of its own; returns whether it worked. */
function refund(
  crew: SampleRun,
  ticket: Ticket,
  { ending, customer }: { readonly ending: TicketEnding; readonly customer: string },
): boolean {
  const { random } = crew;
  const labels = { customer_id: customer, feature: "refunds" };
  const run = crew.child({
    ...labels,
    agent: CREW.refund,
    goal: `Refund $${ticket.usd.toFixed(2)} of order ${ticket.order}`,
  });
  const task: ChatMessage = {
    role: "user",
    content: `May we refund order ${ticket.order} of $${ticket.usd.toFixed(2)}?`,
  };
  const verdict: ChatMessage = {
    role: "assistant",
    content: "**Yes.** It is below the limit of $250, and the first refund of this customer.",
  };
  const policy = { name: "read_policy", args: { topic: "refunds" }, tookMs: random.int(30, 90) };
  run.tool({ ...policy, result: { limit_usd: 250, days: 60 } });
  run.llm({ model: MODELS.small, more: 900, messages: [task], answer: verdict });
  const isBroken = ending === "broken";
  const payments = run.child({
    ...labels,
    agent: CREW.payments,
    goal: `Post the refund of order ${ticket.order} to the payments ledger`,
  });
  const posting = {
    name: "post_refund",
    args: { order: ticket.order, usd: ticket.usd, idempotency_key: `refund-${ticket.order}` },
  };
  const failures = isBroken ? 3 : random.chance(0.15) ? 1 : 0;
  for (let n = 0; n < failures; n++) {
    payments.tool({ ...posting, tookMs: random.int(1_900, 2_400), error: LEDGER_DOWN });
    payments.wait(1_000 * 2 ** n);
    payments.log(`Try ${n + 1} failed, ${n + 1 < failures || !isBroken ? "again" : "giving up"}`);
  }
  if (!isBroken) {
    const result = { posted: true, entry: `pl_${random.bytes(4).toHex()}` };
    payments.tool({ ...posting, tookMs: random.int(300, 900), result });
  }
  const end = isBroken
    ? { status: "failed", output: { error: LEDGER_DOWN } }
    : { status: "success", output: { posted: true } };
  payments.finish(end);
  run.nowMs = payments.nowMs;
  run.finish(isBroken ? { status: "failed", output: { error: "The refund was not posted" } } : end);
  crew.nowMs = run.nowMs;
  return !isBroken;
}
