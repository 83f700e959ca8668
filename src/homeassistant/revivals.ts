import type { Clock } from "../runtime/clock.js";
import { bridgeDevice, codeOf, controllerDevice, type Device, type Seen } from "./announcement.js";
import type { Announcements } from "./announcements.js";
import type { DocumentSettings } from "./documents.js";
import { textHash } from "./identity.js";
import { sameTopicGapMs } from "./removal.js";
import type { TaskLoop } from "./task-loop.js";
import { revivedDocument, type Withdrawals } from "./withdrawals.js";

export interface RevivalPorts {
  readonly withdrawals: Withdrawals;
  readonly announcements: Announcements;
  readonly settings: DocumentSettings;
  /** Whether the broker took it. */
  readonly publish: (topic: string, payload: string) => Promise<boolean>;
  /** Its tasks come to `perform`. */
  readonly tasks: Pick<TaskLoop, "due">;
  readonly clock: Pick<Clock, "now">;
}

const retryMs = 10_000;
const tasks = { announce: "revive ", withdraw: "withdraw " } as const;

/** At Home Assistant's births: announces what was withdrawn before once more, and withdraws it again. */
export class Revivals {
  readonly #ports: RevivalPorts;
  /** By topic, the text published there to be withdrawn next. */
  readonly #open = new Map<string, string>();

  constructor(ports: RevivalPorts) {
    this.#ports = ports;
  }

  birth(): void {
    for (const [topic, { code, components }] of this.#ports.withdrawals.due(this.#ports.clock.now())) {
      if (!this.#ports.announcements.revive(topic, deviceOf(code), components))
        this.#ports.tasks.due(`${tasks.announce}${topic}`, 0);
    }
  }

  /** The link is back: what still stands there goes. */
  connected(): void {
    for (const topic of this.#open.keys()) this.#ports.tasks.due(`${tasks.withdraw}${topic}`, 0);
  }

  /** Whether it is a message of this class that came back. */
  isEcho(topic: string, payload: string): boolean {
    return this.#open.get(topic) === textHash(payload);
  }

  /** False where the task is another's. */
  async perform(task: string): Promise<boolean> {
    const isAnnouncing = task.startsWith(tasks.announce);
    if (!isAnnouncing && !task.startsWith(tasks.withdraw)) return false;
    const topic = task.slice((isAnnouncing ? tasks.announce : tasks.withdraw).length);
    const { withdrawals, announcements, clock } = this.#ports;
    const withdrawn = withdrawals.due(clock.now()).get(topic);
    const device = deviceOf(withdrawn?.code ?? null);
    // A device that came back meanwhile says itself what it has no more.
    if (withdrawn && announcements.revive(topic, device, withdrawn.components)) {
      this.#open.delete(topic);
      this.#ports.tasks.due(announcements.ownerOf(topic, device), sameTopicGapMs);
    } else if (!isAnnouncing) await this.#withdraw(topic);
    else if (withdrawn && !this.#open.has(topic)) {
      const text = JSON.stringify(revivedDocument(topic, withdrawn, this.#ports.settings));
      this.#open.set(topic, textHash(text));
      const isTaken = await this.#ports.publish(topic, text);
      this.#ports.tasks.due(`${tasks.withdraw}${topic}`, isTaken ? sameTopicGapMs : 0);
    }
    return true;
  }

  async #withdraw(topic: string): Promise<void> {
    if (await this.#ports.publish(topic, "")) this.#open.delete(topic);
    else this.#ports.tasks.due(`${tasks.withdraw}${topic}`, retryMs);
  }
}

const deviceOf = (code: string | null): Device => (code === null ? bridgeDevice : controllerDevice(code));

export interface StrayPorts {
  readonly announcements: Announcements;
  /** Whether what an earlier run announced may be removed; a device code, or null for what belongs to no controller. */
  readonly removalAllowed: (code: string | null) => boolean;
  /** Empties the topic for good; false where the broker did not take it. */
  readonly withdraw: (topic: string, device: Device, components: Seen["components"]) => Promise<boolean>;
}

/** Announcements of ours on the broker that no device wants, or not yet. */
export class Strays {
  readonly #ports: StrayPorts;
  readonly #found = new Map<string, Seen>();

  constructor(ports: StrayPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#found.size;
  }

  add(topic: string, seen: Seen): void {
    this.#found.set(topic, seen);
  }

  /** Whether any of them may be cleared now. */
  get isAnyDue(): boolean {
    return [...this.#found.values()].some(({ device }) => this.#ports.removalAllowed(codeOf(device)));
  }

  /** Clears each as soon as it is known that nothing will want it; returns the topics. */
  async sweep(): Promise<readonly string[]> {
    const { announcements, removalAllowed, withdraw } = this.#ports;
    const cleared: string[] = [];
    for (const [topic, { device: named, components }] of this.#found) {
      const device = announcements.ownerOf(topic, named);
      if (announcements.topicOf(device) === topic && announcements.isWanted(device))
        this.#found.delete(topic);
      else if (removalAllowed(codeOf(device))) {
        if (!(await withdraw(topic, device, components))) break;
        this.#found.delete(topic);
        cleared.push(topic);
      }
    }
    return cleared;
  }
}
