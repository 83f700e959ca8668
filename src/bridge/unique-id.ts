import { hash8 } from "../greenhouse/ids.js";

const reserved = new Set(["bridge"]);

/** The wanted topic id, or with a suffix made of the raw text where it is taken or reserved; never a counter. */
export function uniqueId(wanted: string, raw: string, isTaken: (id: string) => boolean): string {
  const free = (id: string) => !reserved.has(id) && !isTaken(id);
  if (free(wanted)) return wanted;
  let salt = raw;
  for (;;) {
    const id = `${wanted.slice(0, 55)}_${hash8(salt)}`;
    if (free(id)) return id;
    salt += raw;
  }
}
