import { jsonSchema } from "../config/reference.js";
import type { Surroundings } from "./surroundings.js";

export function schema({ out }: Surroundings): void {
  out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
}
