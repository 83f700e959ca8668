import {
  byAddress,
  likenessOf,
  seeAddress,
  type SeenAddress,
  valuesText,
} from "../greenhouse/addresses-seen.js";
import { ownerOf } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import { addressPattern } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";
import { byText } from "../greenhouse/topic-ids.js";
import type { TextFile } from "../runtime/file-system.js";
import type { Clock } from "../runtime/clock.js";
import type { GreenhouseStore } from "./store.js";
import { fieldsOf } from "../runtime/objects.js";

const mostAddresses = 5_000;
/** A bound on events: beyond it an account pushes whole tables, which nobody reads as events; the list has them. */
const mostEvents = 100;

/** Pushed addresses that belong to nothing in the configuration. */
export class AddressesSeen {
  readonly #store: Pick<GreenhouseStore, "get">;
  readonly #clock: Pick<Clock, "now">;
  /** Keeps them over restarts, as something moved once may not move again for weeks. */
  readonly #memory: TextFile;
  readonly #onEvent: (event: BridgeEvent) => void;
  readonly #seen = new Map<string, SeenAddress>();
  #events = 0;
  #isWriting = false;
  #isDirty = false;

  /** `memory` never rejects. */
  constructor(
    store: Pick<GreenhouseStore, "get">,
    clock: Pick<Clock, "now">,
    memory: TextFile,
    onEvent: (event: BridgeEvent) => void,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#memory = memory;
    this.#onEvent = onEvent;
  }

  /** Restores what an earlier run kept. */
  async restore(): Promise<void> {
    for (const one of readSeen(await this.#memory.read())) {
      const key = keyOf(one.code, one.address);
      if (!this.#seen.has(key)) this.#seen.set(key, one);
    }
  }

  /** Notes a pushed value of an address. */
  see(code: string, address: string, raw: RawValue): void {
    const controller = this.#store.get(code);
    if (controller === undefined || !addressPattern.test(address)) return;
    const key = keyOf(code, address);
    const known = this.#seen.get(key);
    if (known === undefined && this.#seen.size >= mostAddresses) return;
    if (ownerOf(controller, address) !== null) return;
    const seen = seeAddress(known, code, address, raw, this.#clock.now());
    if (seen === known) return;
    this.#seen.set(key, seen);
    void this.#keep();
    if (known === undefined) this.#report(seen, controller.info.id);
  }

  /** The addresses without those configured meanwhile, in the order of controllers and addresses. */
  list(): readonly SeenAddress[] {
    return [...this.#seen.values()]
      .filter(({ code, address }) => {
        const controller = this.#store.get(code);
        return controller !== undefined && ownerOf(controller, address) === null;
      })
      .sort((one, other) => byText(one.code, other.code) || byAddress(one.address, other.address));
  }

  #report({ address, values, lastAt: at }: SeenAddress, controller: string): void {
    this.#events += 1;
    if (this.#events > mostEvents) return;
    const { kind, text } = likenessOf(values);
    this.#onEvent({
      type: "address_seen",
      severity: "info",
      message: `The platform shows address ${address} of ${controller}, which belongs to nothing in the configuration: ${valuesText(values)}, looks like ${String(text)}. The diagnostics of the page list such addresses as YAML; \`greenhouse2mqtt discover --listen\` watches them.`,
      at,
      facts: { controller, address, value: values.at(-1) ?? null, looks_like: kind },
    });
  }

  /** Saves the list, one write at a time; a change meanwhile is part of the next write. */
  async #keep(): Promise<void> {
    this.#isDirty = true;
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#isDirty) {
      this.#isDirty = false;
      await this.#memory.write(JSON.stringify([...this.#seen.values()]));
    }
    this.#isWriting = false;
  }
}

const keyOf = (code: string, address: string): string => JSON.stringify([code, address]);

function readSeen(text: string | null): readonly SeenAddress[] {
  let kept: unknown = null;
  try {
    kept = JSON.parse(text ?? "null");
  } catch {
    // Counts as no file.
  }
  return Array.isArray(kept) ? kept.filter(isSeen).slice(0, mostAddresses) : [];
}

function isSeen(one: unknown): one is SeenAddress {
  const { code, address, values, firstAt, lastAt } = fieldsOf(one);
  const areTexts =
    Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string");
  return (
    typeof code === "string" &&
    typeof address === "string" &&
    addressPattern.test(address) &&
    areTexts &&
    typeof firstAt === "number" &&
    typeof lastAt === "number"
  );
}
