import { isFields, type IssuedToken } from "./shapes.js";
import { hexAt, mix } from "./weather.js";

export interface AuthRules {
  /** `any`: every bearer token is good; `known`: only those in `accepted` and those issued by a sign-in. */
  readonly tokens: "any" | "known";
  readonly accepted: readonly string[];
  /** By default the realtime host does not check, as on the real platform. */
  readonly checkRealtime: boolean;
  /** How a wrong token is refused: HTTP status, or HTTP 200 with a body code. */
  readonly refusal: 401 | 403 | "body";
  /** The body code for `refusal: "body"`. */
  readonly refusalCode: number;
  readonly lifetimeMs: number;
  /** Fields that the sign-in body must have; null: any object signs in. */
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

  /** Issues a token; null if the body does not sign in. */
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

  accept(token: string): void {
    this.#known.set(token, Infinity);
  }

  /** Refuses all tokens so far; only those issued or accepted later are good. */
  expireAll(): void {
    this.#trustsAny = false;
    this.#known = new Map();
  }
}
