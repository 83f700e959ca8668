import { isFields, type IssuedToken } from "./shapes.js";
import { hexAt, mix } from "./weather.js";

export interface AuthRules {
  /** `any`: every bearer token is good; `known`: only those of `accepted` and those issued by signing in. */
  readonly tokens: "any" | "known";
  readonly accepted: readonly string[];
  /** The realtime host does not check by default, as today. */
  readonly checkRealtime: boolean;
  /** How a wrong token is refused: HTTP status, or HTTP 200 with a body code. */
  readonly refusal: 401 | 403 | "body";
  /** That body code. */
  readonly refusalCode: number;
  /** How long an issued token lasts. */
  readonly lifetimeMs: number;
  /** Fields the sign-in body must carry; any object signs in without it. */
  readonly signIn: Readonly<Record<string, string>> | null;
}

export const plainAuth: AuthRules = {
  tokens: "any",
  accepted: [],
  checkRealtime: false,
  refusal: 401,
  refusalCode: 401,
  lifetimeMs: 2 * 3_600_000,
  signIn: null,
};

const mostTokens = 1000;

/** Which bearer tokens are good. Instants are real epoch ms. */
export class TokenStore {
  readonly #rules: AuthRules;
  readonly #seed: number;
  #trustsAny: boolean;
  #known: Map<string, number>;
  #issued = 0;

  constructor(rules: AuthRules, seed: number) {
    this.#rules = rules;
    this.#seed = mix(seed, 401);
    this.#trustsAny = rules.tokens === "any";
    this.#known = new Map(rules.accepted.map((token) => [token, Infinity]));
  }

  /** A new token, or null when the body is not one that signs in. */
  signIn(body: unknown, now: number): IssuedToken | null {
    if (!isFields(body)) return null;
    const wanted = Object.entries(this.#rules.signIn ?? {});
    if (wanted.some(([field, value]) => body[field] !== value)) return null;
    const issued = { token: hexAt(this.#seed, ++this.#issued), expiresAt: now + this.#rules.lifetimeMs };
    this.#known.set(issued.token, issued.expiresAt);
    const oldest = this.#known.keys().next();
    if (this.#known.size > mostTokens && !oldest.done) this.#known.delete(oldest.value);
    return issued;
  }

  accepts(token: string, now: number): boolean {
    const expiresAt = this.#known.get(token);
    return expiresAt === undefined ? this.#trustsAny : now < expiresAt;
  }

  /** From now on this token is good. */
  accept(token: string): void {
    this.#known.set(token, Infinity);
  }

  /** Every token of before is refused; only newly issued or accepted ones are good. */
  expireAll(): void {
    this.#trustsAny = false;
    this.#known = new Map();
  }
}
