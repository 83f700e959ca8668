import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import sparkplug from "sparkplug-payload";
import tahu from "sparkplug-payload/lib/sparkplugPayloadProto.js";
import { onTestFinished } from "vitest";

/*
 * A host application as others write it: payloads are read and written by `sparkplug-payload`, which shares no code with the
 * bridge. It keeps what the specification has a host keep, aliases, values and the sequence, and notes what it must not see.
 */

type Codec = NonNullable<ReturnType<typeof sparkplug.get>>;
export type Payload = ReturnType<Codec["decodePayload"]>;
export type HostMetric = NonNullable<Payload["metrics"]>[number];

export const codec: Codec = (() => {
  const found = sparkplug.get("spBv1.0");
  if (found === null) throw new Error("no codec");
  return found;
})();

export interface Seen {
  readonly topic: string;
  readonly verb: string;
  readonly device: string | null;
  readonly payload: Payload;
  readonly bytes: Buffer;
  readonly retain: boolean;
}

interface Shown {
  readonly value: unknown;
  readonly quality: unknown;
  readonly at: number;
  readonly type: string;
  readonly unit: unknown;
}

export const nodeRoot = (verb: string) => `spBv1.0/greenhouses/${verb}/greenhouse2mqtt`;

/** What a host knows of a node from its messages alone. */
export class HostView {
  readonly seen: Seen[] = [];
  /** What broke the rules of the specification, in the order in which it was seen. */
  readonly faults: string[] = [];
  /** By device, "" for the node itself; a dead device has none. */
  readonly shown = new Map<string, Map<string, Shown>>();
  readonly #names = new Map<string, string>();
  #seq: number | null = null;
  bdSeq: number | null = null;

  take(topic: string, bytes: Buffer, retain = false): void {
    const [, , verb = "", , device = null] = topic.split("/");
    if (!/^[ND](BIRTH|DATA|DEATH)$/.test(verb)) return;
    const payload = codec.decodePayload(bytes);
    this.seen.push({ topic, verb, device, payload, bytes, retain });
    if (retain) this.faults.push(`${verb} was retained`);
    if (verb === "NDEATH") this.#died(payload);
    else this.#lives(verb, device ?? "", payload, bytes);
  }

  #died(payload: Payload): void {
    if (Number(payload.metrics?.[0]?.value) !== this.bdSeq) return;
    this.#seq = null;
    this.shown.clear();
  }

  #lives(verb: string, device: string, payload: Payload, bytes: Buffer): void {
    const seq = payload.seq === undefined || payload.seq === null ? null : Number(payload.seq);
    if (verb === "NBIRTH") {
      if (seq !== 0) this.faults.push(`NBIRTH with seq ${seq}`);
      this.shown.clear();
      this.bdSeq = Number(payload.metrics?.find(({ name }) => name === "bdSeq")?.value);
    } else if (this.#seq === null) this.faults.push(`${verb} before NBIRTH`);
    else if (seq !== (this.#seq + 1) % 256) this.faults.push(`${verb} with seq ${seq} after ${this.#seq}`);
    this.#seq = seq;
    if (verb === "DDEATH") this.shown.delete(device);
    else this.#told(verb, device, payload.metrics ?? [], rawValues(bytes));
  }

  #told(verb: string, device: string, metrics: readonly HostMetric[], raw: readonly unknown[]): void {
    const isBirth = verb.endsWith("BIRTH");
    const known = isBirth ? new Map<string, Shown>() : this.shown.get(device);
    if (known === undefined) {
      this.faults.push(`${verb} of ${device}, which is not born`);
      return;
    }
    this.shown.set(device, known);
    for (const [place, metric] of metrics.entries()) {
      const key = `${device} ${String(metric.alias)}`;
      const name = isBirth ? metric.name : this.#names.get(key);
      if (name === undefined || name === null) {
        this.faults.push(`${verb} of ${device} with an unknown metric`);
        continue;
      }
      if (isBirth && metric.alias !== undefined && metric.alias !== null) this.#names.set(key, name);
      if (!isBirth && !known.has(name)) this.faults.push(`${name} is in no birth of this session`);
      const { Quality: quality, engUnit } = metric.properties ?? {};
      const before = known.get(name);
      known.set(name, {
        value: (isBirth ? metric.value : raw[place]) ?? null,
        quality: quality?.value ?? before?.quality ?? null,
        at: Number(metric.timestamp),
        type: isBirth ? metric.type : (before?.type ?? ""),
        unit: engUnit?.value ?? before?.unit ?? null,
      });
    }
  }

  value(device: string, name: string): unknown {
    return this.shown.get(device)?.get(name)?.value;
  }

  of(verb: string, device: string | null = null): readonly Seen[] {
    return this.seen.filter((one) => one.verb === verb && one.device === device);
  }
}

/** Data messages name no types, and without one the package reads no value; its generated half does. */
const rawValues = (bytes: Buffer): readonly unknown[] =>
  tahu.org.eclipse.tahu.protobuf.Payload.decode(bytes).metrics.map(
    (metric) => Object.entries(metric).find(([field]) => field.endsWith("Value"))?.[1] as unknown,
  );

type Written = Omit<HostMetric, "timestamp"> & { readonly timestamp?: number | null };

/** A host at a broker; ended with the test. */
export async function host(url: string, options: IClientOptions = {}) {
  const client: MqttClient = await mqtt.connectAsync(url, { protocolVersion: 5, ...options });
  onTestFinished(() => client.endAsync(true));
  const view = new HostView();
  client.on("message", (topic, payload, packet) => {
    if (topic.startsWith("spBv1.0/") && !topic.includes("/STATE/")) view.take(topic, payload, packet.retain);
  });
  await client.subscribeAsync("spBv1.0/#", { qos: 1 });
  const write = (topic: string, metrics: readonly Written[], timestamp: number | null = Date.now()) => {
    const payload = { timestamp, metrics: metrics.map((one) => ({ timestamp, ...one })) };
    return client.publishAsync(topic, Buffer.from(codec.encodePayload(payload as Payload)), { qos: 0 });
  };
  return {
    client,
    view,
    /** Writes metrics of a device, each with the time of now unless it says another. */
    command: (device: string, ...metrics: readonly Written[]) =>
      write(`${nodeRoot("DCMD")}/${device}`, metrics),
    rebirth: () => write(nodeRoot("NCMD"), [{ name: "Node Control/Rebirth", type: "Boolean", value: true }]),
    say: (topic: string, payload: string | Buffer, retain = false) =>
      client.publishAsync(topic, payload, { qos: 1, retain }),
    state: (id: string, online: boolean, timestamp: number) =>
      client.publishAsync(`spBv1.0/STATE/${id}`, JSON.stringify({ online, timestamp }), {
        qos: 1,
        retain: true,
      }),
  };
}
