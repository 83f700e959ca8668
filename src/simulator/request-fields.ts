/** A field of a control request that is not what it should be; the message says what it should be. */
export class WrongField extends Error {}

/** The fields of one control request, read with the error a caller can act on. */
export class RequestFields {
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(json: Readonly<Record<string, unknown>>) {
    this.#fields = new Map(Object.entries(json));
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value === "number") return String(value);
    if (typeof value !== "string" || value === "") throw new WrongField(`"${name}" must be a text`);
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.#fields.has(name) ? this.text(name) : undefined;
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name);
    if (typeof value !== "boolean") throw new WrongField(`"${name}" must be true or false`);
    return value;
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#fields.get(name);
    if (value !== undefined && typeof value !== "number") throw new WrongField(`"${name}" must be a number`);
    return value;
  }

  raw(name: string): unknown {
    return this.#fields.get(name);
  }

  scalar(name: string): string | number | boolean | null {
    const value = this.#fields.get(name);
    if (
      value === null ||
      typeof value === "string" ||
      typeof value === "number" ||
      typeof value === "boolean"
    )
      return value;
    throw new WrongField(`"${name}" must be a text, number, boolean or null`);
  }

  oneOf<Word extends string>(name: string, words: readonly Word[], usual?: Word): Word {
    const value = this.#fields.get(name);
    const found = words.find((word) => word === value) ?? (value === undefined ? usual : undefined);
    if (found === undefined) throw new WrongField(`"${name}" must be one of ${words.join(", ")}`);
    return found;
  }
}
