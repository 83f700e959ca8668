import { parameterGroup, type ParameterGroup } from "../../greenhouse/device-types.js";

const highest = 1_000_000;
const mostTypes = 1_000;

/** Type ids as the command line takes them, `1,2` or `2,190-201`; null for anything else. */
export function parseTypes(text: string): readonly ParameterGroup[] | null {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [, first, last = first] = /^\s*(\d{1,7})(?:-(\d{1,7}))?\s*$/.exec(part) ?? [];
    const from = Number(first);
    const to = Number(last);
    if (first === undefined || from > to || to > highest || to - from >= mostTypes) return null;
    for (let id = from; id <= to; id += 1) found.add(id);
  }
  return found.size > mostTypes ? null : [...found].map(parameterGroup);
}
