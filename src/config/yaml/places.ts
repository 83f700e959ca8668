import type { Path } from "../problem.js";

/** Offsets of keys and values, remembered while a document is read. */
export class Places {
  readonly #keys = new Map<string, number>();
  readonly #values = new Map<string, number>();

  setKey(path: Path, offset: number): void {
    this.#keys.set(JSON.stringify(path), offset);
  }

  setValue(path: Path, offset: number): void {
    this.#values.set(JSON.stringify(path), offset);
  }

  /** Whether the file holds this key. */
  has(path: Path): boolean {
    return this.#keys.has(JSON.stringify(path));
  }

  /** The offset to show for a path; of the nearest section around it where it does not stand in the file. */
  offsetOf(path: Path, on: "key" | "value"): number {
    const id = JSON.stringify(path);
    const [first, second] = on === "key" ? [this.#keys, this.#values] : [this.#values, this.#keys];
    const own = first.get(id) ?? second.get(id);
    if (own !== undefined) return own;
    return path.length === 0 ? 0 : this.offsetOf(path.slice(0, -1), "key");
  }
}
