import type { Post, SimulatedPlatform } from "./platform.js";
import { fields, type PublishProperties, type Watch } from "./watch.js";

/* One greenhouse of a rig, seen from the broker and from the platform. */

export type Result = Readonly<Record<string, unknown>>;

export interface House {
  readonly code: string;
  readonly id: string;
  /** `greenhouse/<id>/actuator/<actuator>` */
  topic(actuator: string): string;
  /** Sends a payload as it stands. */
  send(actuator: string, payload: string | Buffer | object, options?: SendOptions): Promise<void>;
  /** Sends it and waits for its result: the one with its id, else the next of the actuator. */
  command(actuator: string, payload: string | Buffer | object, options?: SendOptions): Promise<Result>;
  /** The newest payload on one of an actuator's topics; empty without. */
  latest(actuator: string, leaf: string): string;
  /** The result with an id. */
  result(actuator: string, id: string): Promise<Result>;
  /** All results of an actuator so far. */
  results(actuator: string): readonly Result[];
  /** Phases told of a command so far. */
  phases(actuator: string, id: string): readonly string[];
  untilPhase(actuator: string, id: string, phase: string): Promise<void>;
  /** What the platform got for an address, or for the whole controller. */
  posts(address?: string): Promise<readonly Post[]>;
  /** The values POSTed, in order. */
  posted(address?: string): Promise<readonly string[]>;
  untilPosted(address: string, count: number): Promise<void>;
  /** Waits until the newest POST to an address had this effect. */
  untilEffect(address: string, effect: string): Promise<void>;
  /** A fault of this controller's; see docs/simulator.md. */
  fault(entry: Readonly<Record<string, unknown>>): Promise<void>;
  register(address: string): Promise<string>;
  moveByHand(address: string, value: string): Promise<void>;
  /** Newest events of a type that name an actuator of this controller. */
  events(type: string, actuator?: string): readonly Result[];
}

interface SendOptions {
  readonly retain?: boolean;
  readonly properties?: PublishProperties;
}

interface Surroundings {
  readonly platform: SimulatedPlatform;
  readonly watch: Watch;
}

const patientMs = 90_000;

export function houseOf(code: string, { platform, watch }: Surroundings): House {
  const id = code.toLowerCase();
  const topic = (actuator: string) => `greenhouse/${id}/actuator/${actuator}`;
  const messages = (of: string, from = 0) =>
    watch.seen.slice(from).filter((one) => one.topic === of && !one.retain);
  const resultsFrom = (actuator: string, from = 0) =>
    messages(`${topic(actuator)}/result`, from).map(({ payload }) => fields(payload));
  const next = async (actuator: string, from: number, own: string | null) => {
    const find = () => resultsFrom(actuator, from).find((one) => own === null || one["id"] === own);
    await watch.untilTrue(
      () => find() !== undefined,
      `a result of ${id}/${actuator} ${own ?? ""}`,
      patientMs,
    );
    return find() ?? {};
  };
  const send: House["send"] = (actuator, payload, options) =>
    watch.publish(`${topic(actuator)}/set`, textOf(payload), options);
  const phases = (actuator: string, own: string) =>
    watch.seen
      .filter((one) => one.topic === `${topic(actuator)}/command`)
      .map(({ payload }) => fields(payload))
      .filter((one) => one["id"] === own)
      .map((one) => String(one["phase"]))
      // A retained state may be published again at any time: only a change is a phase.
      .filter((phase, at, all) => phase !== all[at - 1]);
  const posts = async (address?: string) =>
    (await platform.posts()).filter(
      (post) => post.code === code && (address === undefined || post.address === address),
    );
  const until = async (what: string, holds: () => Promise<boolean>) => {
    const end = performance.now() + patientMs;
    while (!(await holds())) {
      if (performance.now() > end) throw new Error(`not in time: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return {
    code,
    id,
    topic,
    send,
    command: async (actuator, payload, options) => {
      const mark = watch.mark();
      await send(actuator, payload, options);
      const own =
        typeof payload === "object" && "id" in payload && !Buffer.isBuffer(payload)
          ? String(payload.id)
          : null;
      return next(actuator, mark, own);
    },
    latest: (actuator, leaf) => watch.latest(`${topic(actuator)}/${leaf}`) ?? "",
    result: (actuator, own) => next(actuator, 0, own),
    results: (actuator) => resultsFrom(actuator),
    phases,
    untilPhase: (actuator, own, phase) =>
      watch.untilTrue(() => phases(actuator, own).includes(phase), `${own} is ${phase}`, patientMs),
    posts,
    posted: async (address) => (await posts(address)).map(({ value }) => value),
    untilPosted: (address, count) =>
      until(`${count} POSTs to ${address}`, async () => (await posts(address)).length >= count),
    untilEffect: (address, effect) =>
      until(`${address} is ${effect}`, async () => (await posts(address)).at(-1)?.effect === effect),
    fault: (entry) => platform.fault({ controller: code, ...entry }),
    register: (address) => platform.register(code, address),
    moveByHand: (address, value) => platform.tell("move_by_hand", { controller: code, address, value }),
    events: (type, actuator) =>
      messages("greenhouse/bridge/event")
        .map(({ payload }) => fields(payload))
        .filter((one) => one["type"] === type && one["controller"] === id)
        .filter((one) => actuator === undefined || one["actuator"] === actuator),
  };
}

function textOf(payload: string | Buffer | object): string | Buffer {
  return typeof payload === "string" || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload);
}
