export interface Token {
  readonly type: "string" | "number" | "name" | "operator";
  readonly text: string;
}

const pattern =
  /\s*(?:(?<string>'(?:[^'\\]|\\.)*')|(?<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?<name>[a-z_]+)|(?<operator>==|!=|<=|>=|[-+*|<>()[\]{},.:=]))/giy;

export function tokens(source: string): Token[] {
  const found: Token[] = [];
  pattern.lastIndex = 0;
  while (pattern.lastIndex < source.trimEnd().length) {
    const at = pattern.lastIndex;
    const groups = pattern.exec(source)?.groups;
    if (groups === undefined) throw new Error(`cannot read template at ${source.slice(at)}`);
    for (const type of ["string", "number", "name", "operator"] as const) {
      const text = groups[type];
      if (text !== undefined) found.push({ type, text });
    }
  }
  return found;
}

export const unescaped = (literal: string): string =>
  literal
    .slice(1, -1)
    .replace(/\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/gi, (_, four?: string, eight?: string, one?: string) =>
      one === undefined ? String.fromCodePoint(Number.parseInt(four ?? eight ?? "", 16)) : one,
    );
