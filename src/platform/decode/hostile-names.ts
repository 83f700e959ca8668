import { isContainer } from "./wire.js";

const hostile = ["__proto__", "constructor", "prototype"] as const;

/** The same parsed answer without names that could change a prototype where somebody copies it. */
export function withoutHostileNames(answer: unknown): unknown {
  const open: unknown[] = [answer];
  while (open.length > 0) {
    const node = open.pop();
    if (!isContainer(node)) continue;
    for (const name of hostile) if (Object.hasOwn(node, name)) Reflect.deleteProperty(node, name);
    for (const child of Object.values(node)) if (isContainer(child)) open.push(child);
  }
  return answer;
}
