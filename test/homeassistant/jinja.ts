import { type Token, tokens, unescaped } from "./jinja-tokens.js";

/*
 * Enough of Jinja to run the templates the bridge sends, with Home Assistant's meanings: one `{{ expression }}`, `value`
 * and `value_json`, the filters float, round, to_json, regex_replace and map of an attribute, the beginning of a text.
 * Anything else is an error, so that a template which needs more does not pass unseen.
 */

class Float {
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}

const missing = Symbol("undefined");
type Value = unknown;

/** The text Home Assistant gets for a payload. Throws where Jinja would. */
export function render(template: string, payload: string): string {
  const match = /^\{\{ ([^]*) \}\}$/.exec(template);
  if (match?.[1] === undefined) throw new Error(`not a single expression: ${template}`);
  const result = new Evaluation(tokens(match[1]), scope(payload)).whole();
  return result === missing ? "" : textOf(result);
}

function scope(payload: string): ReadonlyMap<string, Value> {
  const variables = new Map<string, Value>([["value", payload]]);
  try {
    variables.set("value_json", JSON.parse(payload));
  } catch {
    // Left undefined, as Home Assistant does.
  }
  return variables;
}

function textOf(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value instanceof Float)
    return Number.isInteger(value.number) ? `${value.number}.0` : String(value.number);
  if (typeof value === "string" || typeof value === "number") return String(value);
  throw new Error(`cannot show ${JSON.stringify(value)}`);
}

class Evaluation {
  readonly #tokens: readonly Token[];
  readonly #scope: ReadonlyMap<string, Value>;
  #at = 0;

  constructor(tokens: readonly Token[], scope: ReadonlyMap<string, Value>) {
    this.#tokens = tokens;
    this.#scope = scope;
  }

  whole(): Value {
    const value = this.#conditional(true);
    if (this.#at < this.#tokens.length) throw new Error(`left over: ${this.#tokens[this.#at]?.text ?? ""}`);
    return value;
  }

  #next(text: string): boolean {
    if (this.#tokens[this.#at]?.text !== text || this.#tokens[this.#at]?.type === "string") return false;
    this.#at += 1;
    return true;
  }

  #need(text: string): void {
    if (!this.#next(text))
      throw new Error(`${text} expected, not ${this.#tokens[this.#at]?.text ?? "the end"}`);
  }

  // The branch not taken is parsed but must not fail, so evaluation is switched off by `on`.
  #conditional(on: boolean): Value {
    const start = this.#at;
    this.#or(false);
    if (!this.#next("if")) {
      this.#at = start;
      return this.#or(on);
    }
    const holds = truthy(this.#or(on));
    this.#need("else");
    const otherwise = this.#conditional(on && !holds);
    const end = this.#at;
    if (!on || !holds) return otherwise;
    this.#at = start;
    const value = this.#or(true);
    this.#at = end;
    return value;
  }

  #or(on: boolean): Value {
    let left = this.#and(on);
    while (this.#next("or")) {
      const right = this.#and(on && !truthy(left));
      left = truthy(left) ? left : right;
    }
    return left;
  }

  #and(on: boolean): Value {
    let left = this.#comparison(on);
    while (this.#next("and")) {
      const right = this.#comparison(on && truthy(left));
      left = truthy(left) ? right : left;
    }
    return left;
  }

  #comparison(on: boolean): Value {
    let left = this.#product(on);
    let result: Value = left;
    let isChain = false;
    for (let test = this.#operator(); test !== null; test = this.#operator()) {
      const right = this.#product(on);
      const holds = on && test(left, right);
      result = isChain ? truthy(result) && holds : holds;
      isChain = true;
      left = right;
    }
    return result;
  }

  #operator(): ((left: Value, right: Value) => boolean) | null {
    if (this.#next("==")) return (left, right) => plain(left) === plain(right);
    if (this.#next("in")) return (left, right) => Array.isArray(right) && right.includes(left);
    if (this.#next("<=")) return (left, right) => numberOf(left) <= numberOf(right);
    if (this.#next(">")) return (left, right) => numberOf(left) > numberOf(right);
    return null;
  }

  #product(on: boolean): Value {
    let left = this.#filtered(on);
    while (this.#next("*")) {
      const right = this.#filtered(on);
      left = on ? new Float(numberOf(left) * numberOf(right)) : null;
    }
    return left;
  }

  #filtered(on: boolean): Value {
    let value: Value = this.#next("-") ? -numberOf(this.#primary(on) ?? 0) : this.#primary(on);
    for (;;) {
      if (this.#next("|")) value = this.#filter(value, on);
      else if (this.#next("is")) {
        this.#need("number");
        value = typeof value === "number" || value instanceof Float;
      } else return value;
    }
  }

  #filter(value: Value, on: boolean): Value {
    const name = this.#tokens[this.#at++]?.text;
    const parameters = this.#next("(") ? this.#list(")", on) : [];
    if (!on) return null;
    if (name === "map") return items(value).map((item) => attributeOf(item, String(parameters[0])));
    if (name === "regex_replace")
      return textOf(value).replace(new RegExp(String(parameters[0]), "g"), String(parameters[1]));
    if (name === "to_json") return JSON.stringify(value);
    if (name === "round") return new Float(Number(numberOf(value).toFixed(numberOf(parameters[0]))));
    if (name !== "float") throw new Error(`unknown filter ${String(name)}`);
    const isNumber = typeof value === "string" ? /^\s*[-+]?[\d.]+(e[-+]?\d+)?\s*$/i.test(value) : true;
    if (isNumber && value !== null) return new Float(Number(plain(value)));
    if (parameters.length === 0) throw new Error(`float got invalid input ${String(value)}`);
    return parameters[0];
  }

  #list(end: string, on: boolean): Value[] {
    const items: Value[] = [];
    if (this.#next(end)) return items;
    do {
      // The only parameter with a name is the one of `map`.
      if (this.#next("attribute")) this.#need("=");
      items.push(this.#conditional(on));
    } while (this.#next(","));
    this.#need(end);
    return items;
  }

  #primary(on: boolean): Value {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Error("the template ends early");
    let value: Value = null;
    if (token.type === "string") value = unescaped(token.text);
    else if (token.type === "number") value = Number(token.text);
    else if (token.text === "[") value = this.#list("]", on);
    else if (token.text === "{") value = this.#dictionary(on);
    else if (token.text === "(") {
      value = this.#conditional(on);
      this.#need(")");
    } else if (token.type === "name")
      value = this.#scope.has(token.text) ? this.#scope.get(token.text) : missing;
    else throw new Error(`unexpected ${token.text}`);
    for (;;) {
      if (this.#next(".")) value = this.#attribute(value, on);
      else if (this.#next("[")) value = this.#beginning(value, on);
      else return value;
    }
  }

  /** `text[:number]`. */
  #beginning(value: Value, on: boolean): Value {
    this.#need(":");
    const length = numberOf(this.#primary(true));
    this.#need("]");
    if (!on) return null;
    if (typeof value !== "string") throw new Error("only a text has a beginning here");
    return Array.from(value).slice(0, length).join("");
  }

  #dictionary(on: boolean): Map<Value, Value> | Record<string, Value> {
    const entries: [string, Value][] = [];
    if (this.#next("}")) return {};
    do {
      const key = this.#conditional(on);
      this.#need(":");
      entries.push([String(key), this.#conditional(on)]);
    } while (this.#next(","));
    this.#need("}");
    return Object.fromEntries(entries);
  }

  #attribute(value: Value, on: boolean): Value {
    const name = this.#tokens[this.#at++]?.text ?? "";
    const parameters = this.#next("(") ? this.#list(")", on) : null;
    if (!on) return null;
    if (typeof value !== "object" || value === null) throw new Error(`${name} of something undefined`);
    const entries = new Map<Value, Value>(Object.entries(value));
    if (parameters === null) return entries.has(name) ? entries.get(name) : missing;
    if (name !== "get") throw new Error(`unknown method ${name}`);
    const [key, fallback = null] = parameters;
    return entries.has(key) ? entries.get(key) : fallback;
  }
}

function items(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  throw new Error("not a list");
}

function attributeOf(item: Value, name: string): Value {
  const fields = new Map<string, Value>(Object.entries(Object(item) as object));
  return fields.has(name) ? fields.get(name) : missing;
}

const plain = (value: Value): Value => (value instanceof Float ? value.number : value);
const truthy = (value: Value): boolean => value !== missing && Boolean(plain(value));

function numberOf(value: Value): number {
  const number = plain(value);
  if (typeof number !== "number") throw new Error(`not a number: ${String(number)}`);
  return number;
}
