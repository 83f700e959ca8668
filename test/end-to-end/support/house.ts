import type { SimulatedPlatform } from "./platform.js";
import { fields, type PublishProperties, type Watch } from "./watch.js";

/* One greenhouse of a rig, seen from the broker and from the platform. */

export type Result = Readonly<Record<string, unknown>>;

export type House = ReturnType<typeof houseOf>;
type Payload = string | Buffer | object;

interface SendOptions {
  readonly retain?: boolean;
  readonly properties?: PublishProperties;
}

interface Surroundings {
  readonly platform: SimulatedPlatform;
  readonly watch: Watch;
}

const patientMs = 90_000;

export function houseOf(code: string, { platform, watch }: Surroundings) {
  const id = code.toLowerCase();
  /** `greenhouse/<id>/actuator/<actuator>` */
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
  /** Sends a payload as it stands. */
  const send = (actuator: string, payload: Payload, options?: SendOptions) =>
    watch.publish(`${topic(actuator)}/set`, textOf(payload), options);
  /** Phases told of a command so far. */
  const phases = (actuator: string, own: string) =>
    watch.seen
      .filter((one) => one.topic === `${topic(actuator)}/command`)
      .map(({ payload }) => fields(payload))
      .filter((one) => one["id"] === own)
      .map((one) => String(one["phase"]))
      // A retained state may be published again at any time: only a change is a phase.
      .filter((phase, at, all) => phase !== all[at - 1]);
  /** What the platform got for an address, or for the whole controller. */
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
    ...{ code, id, topic, send, phases, posts },
    /** Sends it and waits for its result: the one with its id, else the next of the actuator. */
    command: async (actuator: string, payload: Payload, options?: SendOptions): Promise<Result> => {
      const mark = watch.mark();
      await send(actuator, payload, options);
      const hasId = typeof payload === "object" && "id" in payload && !Buffer.isBuffer(payload);
      return next(actuator, mark, hasId ? String(payload.id) : null);
    },
    /** The newest payload on one of an actuator's topics; empty without. */
    latest: (actuator: string, leaf: string) => watch.latest(`${topic(actuator)}/${leaf}`) ?? "",
    /** The result with an id. */
    result: (actuator: string, own: string) => next(actuator, 0, own),
    /** All results of an actuator so far. */
    results: (actuator: string): readonly Result[] => resultsFrom(actuator),
    untilPhase: (actuator: string, own: string, phase: string) =>
      watch.untilTrue(() => phases(actuator, own).includes(phase), `${own} is ${phase}`, patientMs),
    /** The values POSTed, in order. */
    posted: async (address?: string) => (await posts(address)).map(({ value }) => value),
    untilPosted: (address: string, count: number) =>
      until(`${count} POSTs to ${address}`, async () => (await posts(address)).length >= count),
    /** Waits until the newest POST to an address had this effect. */
    untilEffect: (address: string, effect: string) =>
      until(`${address} is ${effect}`, async () => (await posts(address)).at(-1)?.effect === effect),
    /** A fault of this controller's; see docs/inside/simulator.md. */
    fault: (entry: Readonly<Record<string, unknown>>) => platform.fault({ controller: code, ...entry }),
    register: (address: string) => platform.register(code, address),
    moveByHand: (address: string, value: string) =>
      platform.tell("move_by_hand", { controller: code, address, value }),
    /** Events of a type that name this controller. */
    events: (type: string): readonly Result[] =>
      messages("greenhouse/bridge/event")
        .map(({ payload }) => fields(payload))
        .filter((one) => one["type"] === type && one["controller"] === id),
  };
}

function textOf(payload: Payload): string | Buffer {
  return typeof payload === "string" || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload);
}
