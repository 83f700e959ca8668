import { likenessOf, seeAddress, type SeenAddress, valuesText } from "../greenhouse/addresses-seen.js";
import { ownerOf } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import { addressPattern } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";
import type { TextFile } from "../runtime/file-system.js";
import type { Clock } from "../runtime/clock.js";
import type { GreenhouseStore } from "./store.js";

interface SeenParts {
  readonly store: Pick<GreenhouseStore, "get">;
  readonly clock: Pick<Clock, "now">;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Where they are kept over a restart: what was moved once may not be moved again for weeks. */
  readonly memory: TextFile | null;
  /** Told why they cannot be kept. */
  readonly onProblem: (error: unknown) => void;
}

const mostAddresses = 5_000;
/** Beyond these an account pushes whole tables: the list has them, and nobody reads so many events. */
const mostEvents = 100;

/** The addresses that the platform pushed and that belong to nothing of the configuration. */
export class AddressesSeen {
  readonly #parts: SeenParts;
  readonly #seen = new Map<string, SeenAddress>();
  #events = 0;
  #writing: Promise<void> | null = null;
  #isDirty = false;

  constructor(parts: SeenParts) {
    this.#parts = parts;
  }

  /** Takes over what an earlier run kept. */
  async restore(): Promise<void> {
    const { memory, onProblem } = this.#parts;
    const text = await (memory?.read() ?? Promise.resolve(null)).catch((error: unknown) => {
      onProblem(error);
      return null;
    });
    for (const one of readSeen(text)) {
      const key = keyOf(one.code, one.address);
      if (!this.#seen.has(key)) this.#seen.set(key, one);
    }
  }

  /** A value of an address was pushed. */
  see(code: string, address: string, raw: RawValue): void {
    const controller = this.#parts.store.get(code);
    if (controller === undefined || !addressPattern.test(address)) return;
    const key = keyOf(code, address);
    const known = this.#seen.get(key);
    if (known === undefined && this.#seen.size >= mostAddresses) return;
    if (ownerOf(controller, address) !== null) return;
    const seen = seeAddress(known, code, address, raw, this.#parts.clock.now());
    if (seen === known) return;
    this.#seen.set(key, seen);
    this.#keep();
    if (known === undefined) this.#report(seen, controller.info.id);
  }

  /** Without those that the configuration holds by now, in the order of controllers and addresses. */
  list(): readonly SeenAddress[] {
    return [...this.#seen.values()]
      .filter(({ code, address }) => {
        const controller = this.#parts.store.get(code);
        return controller !== undefined && ownerOf(controller, address) === null;
      })
      .sort((one, other) => byText(one.code, other.code) || byAddress(one.address, other.address));
  }

  #report({ address, values, lastAt: at }: SeenAddress, controller: string): void {
    this.#events += 1;
    if (this.#events > mostEvents) return;
    const { kind, text } = likenessOf(values);
    this.#parts.onEvent({
      type: "address_seen",
      severity: "info",
      message: `The platform shows address ${address} of ${controller}, which belongs to nothing in the configuration: ${valuesText(values)}, looks like ${String(text)}. The diagnostics of the page list such addresses as YAML; \`greenhouse2mqtt discover --listen\` watches them.`,
      at,
      facts: { controller, address, value: values.at(-1) ?? null, looks_like: kind },
    });
  }

  /** One write at a time; what changes meanwhile goes with the next. */
  #keep(): void {
    const { memory, onProblem } = this.#parts;
    this.#isDirty = true;
    if (memory === null || this.#writing !== null) return;
    const write = async () => {
      while (this.#isDirty) {
        this.#isDirty = false;
        await memory.write(JSON.stringify([...this.#seen.values()]));
      }
    };
    this.#writing = write()
      .catch(onProblem)
      .finally(() => {
        this.#writing = null;
      });
  }
}

const keyOf = (code: string, address: string): string => JSON.stringify([code, address]);

function readSeen(text: string | null): readonly SeenAddress[] {
  let kept: unknown = null;
  try {
    kept = JSON.parse(text ?? "null");
  } catch {
    // As no file.
  }
  return Array.isArray(kept) ? kept.filter(isSeen).slice(0, mostAddresses) : [];
}

function isSeen(one: unknown): one is SeenAddress {
  const { code, address, values, firstAt, lastAt } = (one ?? {}) as Partial<
    Record<keyof SeenAddress, unknown>
  >;
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

const byText = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** Numbers by size, before everything else. */
function byAddress(one: string, other: string): number {
  const sizeOf = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : Infinity);
  const first = sizeOf(one);
  const second = sizeOf(other);
  return first === second ? byText(one, other) : first - second;
}
