import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/*
 * The program is built into a few files, and beside each lies a map to its sources. Node reads such maps at every start where
 * it is told to; here one is read only where a stack is shown to a person. Not where one is looked at: Node itself looks at the
 * stack of each error that ends a socket, and many sockets end so in a minute where nothing is wrong.
 */

export interface SourceMap {
  readonly sources: readonly string[];
  /** Segments, which `,` ends, in lines, which `;` ends. */
  readonly mappings: string;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const valueOf = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, digits.indexOf(String.fromCharCode(code))),
);
const comma = 44;
const semicolon = 59;

/**
 * The numbers of each segment of a map, one call a segment: column of the built line, source, line and column there. The map
 * has each as its distance from the one before, with five bits a digit, the lowest first, a sixth where more digits follow,
 * and the sign in the lowest bit of all. `take` gets the same list each time, and says whether to go on.
 */
function eachSegment(
  mappings: string,
  take: (builtLine: number, fields: readonly number[]) => boolean,
): void {
  const fields = [0, 0, 0, 0, 0];
  let builtLine = 1;
  let field = 0;
  let bits = 0;
  let shift = 0;
  for (let at = 0; at <= mappings.length; at += 1) {
    const code = at === mappings.length ? semicolon : mappings.charCodeAt(at);
    if (code === comma || code === semicolon) {
      if (field > 0 && !take(builtLine, fields)) return;
      field = 0;
      if (code !== semicolon) continue;
      builtLine += 1;
      fields[0] = 0;
      continue;
    }
    const digit = valueOf[code] ?? 0;
    bits |= (digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    fields[field] = (fields[field] ?? 0) + ((bits & 1) === 0 ? bits >> 1 : -(bits >> 1));
    field += 1;
    bits = 0;
    shift = 0;
  }
}

/**
 * `source:line:column` of a place in a built file, lines and columns from 1; of a package's file only its name, as the map has no
 * more; null where the map does not know it.
 */
export function sourceOf({ sources, mappings }: SourceMap, line: number, column: number): string | null {
  let found: string | null = null;
  eachSegment(mappings, (builtLine, [builtColumn = 0, source = 0, sourceLine = 0, sourceColumn = 0]) => {
    if (builtLine === line && builtColumn < column) {
      const name = (sources[source] ?? "").replace(/^(?:\.\.\/)+/, "");
      const ofPackage = name.lastIndexOf("node_modules/");
      found = ofPackage < 0 ? `${name}:${sourceLine + 1}:${sourceColumn + 1}` : name.slice(ofPackage);
    }
    return builtLine <= line;
  });
  return found;
}

/** A map; null where there is none, and a stack stays as it is. */
function readMap(url: string): SourceMap | null {
  try {
    return JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")) as SourceMap;
  } catch {
    return null;
  }
}

/** A stack with the places of the sources in it. */
export function readableStack(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replace(/(file:[^()\s]+\.js):(\d+):(\d+)/g, (place, url: string, line, column) => {
    const map = maps.has(url) ? maps.get(url) : readMap(url);
    maps.set(url, map ?? null);
    return (map && sourceOf(map, Number(line), Number(column))) ?? place;
  });
}

/** An error as a person is shown it: its stack, else its message. */
export const stackText = (error: unknown): string =>
  error instanceof Error ? readableStack(error.stack ?? error.message) : String(error);
