import { fields } from "../../end-to-end/support/watch.js";
import type { Fields } from "../../judge/recorded.js";
import { textOf } from "../history.js";
import {
  comesTrue,
  type Notes,
  platform,
  resultsOf,
  type Row,
  type Seen,
  stayedOnline,
  unless,
} from "../row.js";
import { commanded, moved, topicOf, windTopic } from "../support/house.js";
import type { World } from "../support/world.js";

/*
 * One greenhouse answers late or not at all while commands to it continue. At the other one a storm begins, a motor is
 * stopped and a lease ends; their POSTs must not be delayed by the first one.
 */

/** The longest time from a request to its POST; a guard and the end of a lease read the actuator first. */
const leavesWithinMs = 5_000;
const leaseMs = 3_000;
/** Actuators of the dead greenhouse that have commands in progress before anything is asked of the other one. */
const heldUp = 4;

const resultTopic = (actuator: string, code = moved) => `${topicOf(code, actuator)}/result`;

const set = ({ watch }: World, actuator: string, payload: object, code = moved) =>
  watch.publish(`${topicOf(code, actuator)}/set`, JSON.stringify(payload));

/** Resolves with a result seen since; throws if none came. */
async function result({ watch }: World, since: number, actuator: string, id: string): Promise<Fields> {
  const found = () =>
    watch.seen
      .slice(since)
      .filter(({ topic }) => topic === resultTopic(actuator))
      .map(({ payload }) => fields(payload))
      .find((one) => one["id"] === id);
  if (!(await comesTrue(() => found() !== undefined, 20_000))) throw new Error(`no result of ${id} for 20 s`);
  return found() ?? {};
}

const holds = ({ watch }: World): boolean => {
  const because = fields(watch.latest(`${topicOf(moved, "vent")}/allowed`) ?? "{}")["because"];
  return !Array.isArray(because) || because.length > 0;
};

/** Before the fault the other greenhouse is calm, with its window open and its motor running. */
async function prepare(world: World, mark: string): Promise<void> {
  const { watch } = world;
  const since = watch.mark();
  await watch.publish(windTopic, "3");
  if (!(await comesTrue(() => !holds(world), 20_000))) throw new Error("the guard never cleared");
  for (const actuator of ["vent", "winch"]) {
    const id = `${mark}-${actuator}`;
    await set(world, actuator, { command: "open", id, by: "campaign" });
    const { outcome } = await result(world, since, actuator, id);
    if (outcome !== "confirmed" && outcome !== "already") throw new Error(`${actuator} was not opened`);
  }
}

/** Waits until that many actuators of the dead greenhouse have commands in progress. */
async function untilHeldUp({ watch }: World): Promise<void> {
  const underWay = () =>
    [...watch.current(/^greenhouse\/gh-0001\/actuator\/[^/]+\/command$/).values()].filter((payload) =>
      ["checking", "sending"].includes(textOf(fields(payload)["phase"])),
    ).length;
  if (!(await comesTrue(() => underWay() >= heldUp, 30_000))) throw new Error("no commands were held up");
}

async function begin(world: World, notes: Notes, fault: Readonly<Record<string, unknown>>): Promise<void> {
  const { watch, platform: simulated } = world;
  const mark = `${world.lane.name}-${Date.now()}`;
  await prepare(world, mark);
  await simulated.fault({ ...fault, controller: commanded });
  await untilHeldUp(world);
  const since = watch.mark();
  const now = Date.now();
  await Promise.all([
    watch.publish(windTopic, "20"),
    set(world, "winch", { command: "stop", id: `${mark}-stop`, by: "campaign" }),
    set(world, "winch", { command: "stop", id: `${mark}-own-stop`, by: "campaign" }, commanded),
    set(world, "valve", { command: "on", for: `${leaseMs / 1_000}s`, id: `${mark}-on`, by: "campaign" }),
  ]);
  Object.assign(notes, { askedAt: now, heldUpFrom: now });
  const sentBy = (actuator: string, by: string) =>
    watch.seen
      .slice(since)
      .some(
        ({ topic, payload }) =>
          topic === resultTopic(actuator) && textOf(fields(payload)["by"]).startsWith(by),
      );
  await comesTrue(() => sentBy("vent", "rule wind") && sentBy("valve", "lease "), 45_000);
}

/** Checks how a command ended, and how long after it was due its POST was sent. */
function leaves(what: string, actuator: string, isIt: (result: Fields) => boolean, dueMs: number) {
  return ({ messages, notes }: Seen): readonly string[] => {
    const found = messages
      .filter(({ topic, retain }) => topic === resultTopic(actuator) && !retain)
      .map(({ payload }) => fields(payload))
      .find((one) => isIt(one) && Date.parse(textOf(one["finished_at"])) > (notes["askedAt"] ?? Infinity));
    if (found === undefined) return [`${what} never ended`];
    const lateMs = Date.parse(textOf(found["sent_at"])) - (notes["askedAt"] ?? 0) - dueMs;
    return [
      ...unless(found["outcome"] === "confirmed", `${what} ended ${textOf(found["outcome"])}`),
      ...unless(lateMs <= leavesWithinMs, `${what} left after ${lateMs} ms`),
    ];
  };
}

const byPrefix = (prefix: string) => (one: Fields) => textOf(one["by"]).startsWith(prefix);
const byId = (suffix: string) => (one: Fields) => textOf(one["id"]).endsWith(suffix);

/** A stop to the greenhouse that does not answer is also sent, as its phase shows. */
function ownStopLeaves({ messages, notes }: Seen): readonly string[] {
  const left = messages.find(({ topic, payload, at }) => {
    const { id, phase } = topic === `${topicOf(commanded, "winch")}/command` ? fields(payload) : {};
    return textOf(id).endsWith("-own-stop") && phase === "sending" && at >= (notes["askedAt"] ?? 0);
  });
  const lateMs = (left?.at ?? Infinity) - (notes["askedAt"] ?? 0);
  return unless(lateMs <= leavesWithinMs, `the stop of the greenhouse itself left after ${lateMs} ms`);
}

/** No command sent to it since is reported as confirmed before the fault is over. */
function nothingInvented({ messages, sent, notes, endedAt }: Seen): readonly string[] {
  const from = notes["heldUpFrom"] ?? Infinity;
  const ids = new Set(sent.filter(({ at }) => at >= from).map(({ id }) => id));
  return resultsOf(messages.filter(({ at }) => at < endedAt))
    .filter(({ id, outcome }) => ids.has(textOf(id)) && outcome === "confirmed")
    .map(({ id }) => `${textOf(id)} was confirmed by a greenhouse that does not answer`);
}

const others = [
  leaves("what the guard sends", "vent", byPrefix("rule wind"), 0),
  leaves("the stop", "winch", byId("-stop"), 0),
  leaves("the lease's end", "valve", byPrefix("lease "), leaseMs),
];

const dead = (name: string, fault: Readonly<Record<string, unknown>>, checks: Row["checks"] = []): Row =>
  platform({
    name,
    expected: "the other one's guard, stop and lease's end are sent in time; its own results are true",
    holdMs: 25_000,
    reducedHoldMs: 12_000,
    // The last request is given up after 30 s, and a command that may have been sent is read back.
    limitMs: 75_000,
    begin: (world, notes) => begin(world, notes, fault),
    end: async ({ platform: simulated, watch }) => {
      await simulated.tell("clear_faults");
      await watch.publish(windTopic, "3");
    },
    checks: [stayedOnline, ...others, ownStopLeaves, ...checks],
  });

export const controllerRows: readonly Row[] = [
  dead("a controller that answers no POST", { fault: "silent_controller", requests: "posts" }, [
    nothingInvented,
  ]),
  dead("a controller that answers no read", { fault: "silent_controller", requests: "reads" }, [
    nothingInvented,
  ]),
  dead("a controller that does all and answers nothing", { fault: "silent_controller", when: "after" }),
  dead("a controller that answers 6 s late", { fault: "slow_controller", delay: "6s" }),
];
