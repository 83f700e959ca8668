import { type ReadRoles, roleReader, type Roles } from "../decode/items.js";
import { type Fields, isContainer, isFields, textOf } from "../decode/wire.js";

/** The part of a frame that is about one device, with the time that stands nearest to it, as it was written. */
export interface Scope {
  readonly code: string;
  readonly node: object;
  readonly time: unknown;
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

type Role = "device" | "code" | "time";

const roleNames = {
  device: ["deviceCode", "deviceSn", "devCode"],
  code: ["code"],
  time: [
    ...["dateTime", "dataTime", "updateTime", "reportTime", "collectTime", "changeTime"],
    ...["time", "timestamp", "ts", "updatedAt"],
  ],
} as const;

export const scopeRoles = (timePath: string | undefined): ReadRoles<Role> =>
  roleReader<Role>(roleNames, { time: timePath });

const maxScopes = 500;
const maxDepth = 8;

interface Around {
  readonly scope: Scope | null;
  readonly time: unknown;
}

type Knows = (code: string) => boolean;

/** One walk over a frame. */
class ScopeSearch {
  readonly #knows: Knows;
  readonly #roles: ReadRoles<Role>;
  readonly #found: Scope[] = [];
  /** What stands under another device's code in them would be taken for theirs. */
  readonly #mixed = new Set<Scope>();
  #foreign = false;
  #cut = false;

  constructor(knows: Knows, roles: ReadRoles<Role>) {
    this.#knows = knows;
    this.#roles = roles;
  }

  get scopes(): Scopes {
    const list = this.#found.filter((scope) => !this.#mixed.has(scope));
    return { list, foreign: this.#foreign, cut: this.#cut, mixed: this.#mixed.size > 0 };
  }

  visit(node: unknown, around: Around, depth: number): void {
    if (!isContainer(node) || depth > maxDepth || this.#cut) return;
    if (Array.isArray(node)) for (const one of node) this.visit(one, around, depth + 1);
    else if (isFields(node)) this.#visitFields(node, around, depth);
  }

  /** What stands around a part of the frame and may name its device and time. */
  outside(fields: Fields, node: object): Around | null {
    const found = this.#roles(fields);
    const named = this.#deviceIn(found);
    if (named === null) return { scope: null, time: found.time };
    const scope = this.#taken(named, node, found.time);
    return scope && { scope, time: found.time };
  }

  #visitFields(fields: Fields, around: Around, depth: number): void {
    const found = this.#roles(fields);
    const time = found.time ?? around.time;
    const named = this.#deviceIn(found);
    const isNew = named !== null && named !== around.scope?.code;
    const scope = isNew ? this.#taken(named, fields, time) : around.scope;
    if (isNew && scope === null) return;
    for (const key of Object.keys(fields)) {
      const child = fields[key];
      if (!isContainer(child)) continue;
      const isDevice = key !== scope?.code && this.#knows(key);
      if (isDevice && scope !== null) this.#mixed.add(scope);
      this.visit(child, { scope: isDevice ? this.#taken(key, child, time) : scope, time }, depth + 1);
    }
  }

  #taken(code: string, node: object, time: unknown): Scope | null {
    if (!this.#knows(code)) {
      this.#foreign = true;
      return null;
    }
    if (this.#found.length >= maxScopes) {
      this.#cut = true;
      return null;
    }
    const scope = { code, node, time };
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
export function scopesIn(frame: object, part: unknown, knows: Knows, roles: ReadRoles<Role>): Scopes {
  const search = new ScopeSearch(knows, roles);
  const isWhole = part === frame || !isContainer(part) || !isFields(frame);
  const around = isWhole ? { scope: null, time: undefined } : search.outside(frame, part);
  if (around !== null) search.visit(part, around, 0);
  return search.scopes;
}
