import { isPasswordHash } from "../../runtime/password-hash.js";
import type { Path } from "../problem.js";
import type { Shape } from "./shape.js";

const secretName = /pass|pwd|secret|token|pin|key/i;

/** In a sign-in body only some of the values are secret; a hash protects itself. */
export function literalSecret(path: Path, shape: Shape, value: string): boolean {
  if (isPasswordHash(value)) return false;
  return shape.type !== "anything" || secretName.test(String(path.at(-1)));
}
