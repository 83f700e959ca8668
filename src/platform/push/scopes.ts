import { type ReadRoles, roleReader, type Roles } from "../decode/items.js";
import { type Fields, isContainer, isFields, textOf } from "../decode/wire.js";

/** The part of a frame that is about one device. */
export interface Scope {
  readonly code: string;
  readonly node: object;
}

export interface Scopes {
  readonly list: readonly Scope[];
  /** A device is named that nobody wants to know about. */
  readonly foreign: boolean;
  /** More devices than one frame may bring. */
  readonly cut: boolean;
  /** A device stands inside another one, which is left out. */
  readonly mixed: boolean;
}

type Role = "device" | "code";

export const scopeRoles: ReadRoles<Role> = roleReader<Role>(
  { device: ["deviceCode", "deviceSn", "devCode"], code: ["code"] },
  {},
);

const maxScopes = 500;
const maxDepth = 8;

type Knows = (code: string) => boolean;

/** One walk over a frame. */
class ScopeSearch {
  readonly #knows: Knows;
  readonly #found: Scope[] = [];
  /** What stands under another device's code in them would be taken for theirs. */
  readonly #mixed = new Set<Scope>();
  #foreign = false;
  #cut = false;

  constructor(knows: Knows) {
    this.#knows = knows;
  }

  get scopes(): Scopes {
    const list = this.#found.filter((scope) => !this.#mixed.has(scope));
    return { list, foreign: this.#foreign, cut: this.#cut, mixed: this.#mixed.size > 0 };
  }

  visit(node: unknown, around: Scope | null, depth: number): void {
    if (!isContainer(node) || depth > maxDepth || this.#cut) return;
    if (Array.isArray(node)) for (const one of node) this.visit(one, around, depth + 1);
    else if (isFields(node)) this.#visitFields(node, around, depth);
  }

  /** Looks at a part of the frame; what stands around it may name its device. */
  visitPart(part: object, fields: Fields): void {
    const named = this.#deviceIn(scopeRoles(fields));
    const scope = named === null ? null : this.#taken(named, part);
    if (named === null || scope !== null) this.visit(part, scope, 0);
  }

  #visitFields(fields: Fields, around: Scope | null, depth: number): void {
    const named = this.#deviceIn(scopeRoles(fields));
    const isNew = named !== null && named !== around?.code;
    const scope = isNew ? this.#taken(named, fields) : around;
    if (isNew && scope === null) return;
    for (const key of Object.keys(fields)) {
      const child = fields[key];
      if (!isContainer(child)) continue;
      const isDevice = key !== scope?.code && this.#knows(key);
      if (isDevice && scope !== null) this.#mixed.add(scope);
      this.visit(child, isDevice ? this.#taken(key, child) : scope, depth + 1);
    }
  }

  #taken(code: string, node: object): Scope | null {
    if (!this.#knows(code)) {
      this.#foreign = true;
      return null;
    }
    if (this.#found.length >= maxScopes) {
      this.#cut = true;
      return null;
    }
    const scope = { code, node };
    this.#found.push(scope);
    return scope;
  }

  /** `code` may just as well be an envelope's 200, so there only a device that is known counts. */
  #deviceIn(found: Roles<Role>): string | null {
    const device = textOf(found.device);
    if (device !== null) return device;
    const code = textOf(found.code);
    return code !== null && this.#knows(code) ? code : null;
  }
}

/**
 * Finds the devices a frame is about: objects that name one (`{deviceCode, …}`) or stand under its code, anywhere in the
 * frame, or only in `part` of it. Only devices that `knows` are taken, so that nothing else is mistaken for a device code.
 */
export function scopesIn(frame: object, part: unknown, knows: Knows): Scopes {
  const search = new ScopeSearch(knows);
  if (part === frame || !isContainer(part) || !isFields(frame)) search.visit(part, null, 0);
  else search.visitPart(part, frame);
  return search.scopes;
}
