import { codeOf, type Device, type Seen } from "./announcement.js";
import type { Announcements } from "./announcements.js";

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
