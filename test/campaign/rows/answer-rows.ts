import type { SimulatedPlatform } from "../../end-to-end/support/platform.js";
import { fieldsOf, textOf } from "../history.js";
import { expectOutcome, outcomesDuring, type Row, type Seen, stayedOnline } from "../row.js";
import type { BadManner } from "../support/bad-host.js";
import type { World } from "../support/world.js";
import { platform, signsIn, wait } from "./kinds.js";

/* F: answers that are none: too slow, too large, not JSON, refusals, redirects. */

function meet(world: World, manner: BadManner): void {
  world.badHost.manner(manner);
  for (const door of [world.business, world.realtime]) {
    door.target(world.badHost.port);
    door.cut();
  }
}

function leave(world: World): void {
  for (const door of [world.business, world.realtime]) {
    door.target(world.platformPort);
    door.cut();
  }
}

const badAnswers = (name: string, manner: BadManner): Row =>
  platform({
    name,
    how: `both hosts answer everything so (${manner}) for 20 s`,
    expected: "each answer refused in time and size; values kept, readings turn stale",
    holdMs: 20_000,
    reducedHoldMs: 8_000,
    begin: (world) => meet(world, manner),
    end: leave,
    check: (seen) => [...stayedOnline(seen), ...slimmer(seen.notes)],
  });

const slimmer = (notes: Readonly<Record<string, number>>): readonly string[] =>
  (notes["rssMb"] ?? 0) < 300 ? [] : [`the bridge used ${notes["rssMb"] ?? 0} MB`];

/** Every answer is spoilt as a fault file says. */
const spoilt = (name: string, fault: Readonly<Record<string, unknown>>, more: Partial<Row> = {}): Row =>
  platform({
    name,
    how: `every answer: ${JSON.stringify(fault)}`,
    expected: "counts as no answer; nothing invented, back within 60 s",
    holdMs: 15_000,
    reducedHoldMs: 8_000,
    begin: (world) => world.platform.fault({ ...fault, chance: 1 }),
    end: (world) => world.platform.tell("clear_faults"),
    check: stayedOnline,
    ...more,
  });

/** Refusals of a busy device that do not say what the platform said. */
const untold = ({ messages, startedAt, endedAt }: Seen): readonly string[] =>
  messages
    .filter(
      ({ at, topic }) => at >= startedAt + 1_000 && at <= endedAt && topic === "greenhouse/gh-0001/result",
    )
    .map(({ payload }) => fieldsOf(payload))
    .filter(({ reason }) => reason === "platform_unavailable")
    .filter(
      ({ message, request_id: requestId }) => !textOf(message).includes("503") || textOf(requestId) === "",
    )
    .map(({ message }) => `a refusal that does not say what the platform said: ${textOf(message)}`);

/** In turn with the polls of the business host, which alone looks at the token, so that each end is noticed. */
const expiryMs = 7_000;

const expiring = (name: string, times: number): Row =>
  platform({
    name,
    only: signsIn,
    // Pauses of 10, 30 and 60 s after tokens that ended early, counted over all rows of this kind that came before.
    limitMs: 130_000,
    aboutMs: (times - 1) * expiryMs + (times > 1 ? 42_000 : 6_000),
    how: `every token is refused from now on, new ones are good; ${times} times, ${expiryMs / 1_000} s apart`,
    expected: "at most one sign-in each time, commands go on",
    holdMs: 0,
    begin: async ({ platform }, notes) => {
      notes["before"] = await signIns(platform);
      for (let turn = 0; turn < times; turn += 1) {
        notes["atLast"] = await signIns(platform);
        await platform.tell("expire_tokens");
        if (turn < times - 1) await wait(expiryMs);
      }
    },
    // Nothing is noticed before the next poll of the business host.
    isOver: async ({ platform }, notes) => {
      notes["after"] = await signIns(platform);
      return notes["after"] > (notes["atLast"] ?? 0);
    },
    check: ({ notes }) => {
      const made = (notes["after"] ?? 0) - (notes["before"] ?? 0);
      return made >= 1 && made <= times ? [] : [`${made} sign-ins for ${times} expired tokens`];
    },
  });

const signIns = async (platform: SimulatedPlatform) => (await platform.requests())["sign-in"] ?? 0;

export const answerRows: readonly Row[] = [
  badAnswers("answers drip byte by byte", "drip"),
  badAnswers("headers never come", "stalled_headers"),
  badAnswers("answers without an end", "endless"),
  badAnswers("answers of 6 MB", "oversized"),
  badAnswers("gzip bomb", "gzip_bomb"),
  badAnswers("chained encodings", "chained_encodings"),
  badAnswers("JSON 50,000 deep", "deep_json"),
  spoilt("HTML with status 200", { fault: "html" }),
  spoilt("HTML with status 502", { fault: "html", status: 502 }),
  spoilt("status 500", { fault: "http_status", status: 500 }),
  spoilt("body code 500", { fault: "body_code", code: 500 }),
  spoilt(
    "a busy device",
    { fault: "busy", code: 503 },
    {
      how: "get-value is answered with code 503",
      expected: "no read, not 'no value': commands are refused with the code and the request id",
      check: (seen) => [
        ...stayedOnline(seen),
        ...expectOutcome(seen, "refused/platform_unavailable"),
        ...outcomesDuring(seen).filter((outcome) => outcome === "refused/no_read_back"),
        ...untold(seen),
      ],
    },
  ),
  spoilt("broken JSON", { fault: "garbage" }),
  spoilt("empty bodies", { fault: "empty" }),
  spoilt("truncated bodies", { fault: "truncated" }),
  spoilt("429 with Retry-After", {
    fault: "throttle",
    retry_after: "5s",
  }),
  spoilt("503 with Retry-After", {
    fault: "throttle",
    status: 503,
    retry_after: "5s",
  }),
  spoilt("answers 3 s late", { fault: "slow", delay: "3s" }),
  spoilt(
    "redirects",
    { fault: "redirect", status: 307 },
    {
      expected: "not followed: no request to the other origin",
      begin: async (world, notes) => {
        notes["before"] = world.badHost.posts.length;
        world.badHost.manner("redirected_to");
        const message = `http://127.0.0.1:${world.badHost.port}/api/set-value`;
        await world.platform.fault({ fault: "redirect", status: 307, message, chance: 1 });
      },
      check: ({ notes }, { badHost }) =>
        badHost.posts.length === notes["before"] ? [] : ["a control value was sent to another origin"],
    },
  ),
  expiring("token expires", 1),
  expiring("tokens expire three times", 3),
  spoilt(
    "401 for everything",
    { fault: "unauthorized" },
    {
      expected: "no storm of sign-ins; unauthorized is said; back within 60 s",
      holdMs: 12_000,
      limitMs: 130_000,
      begin: async ({ platform }, notes) => {
        notes["before"] = await signIns(platform);
        await platform.fault({ fault: "unauthorized", chance: 1 });
      },
      end: async ({ platform }, notes) => {
        notes["after"] = await signIns(platform);
        await platform.tell("clear_faults");
      },
      check: ({ notes }) => {
        const made = (notes["after"] ?? 0) - (notes["before"] ?? 0);
        return made <= 3 ? [] : [`${made} sign-ins in 12 s`];
      },
    },
  ),
];
