import type { Clock } from "../runtime/clock.js";
import { bridgeDevice, controllerDevice, type Device } from "./announcement.js";
import type { Announcements } from "./announcements.js";
import type { DocumentSettings } from "./document.js";
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
