import { userInfo } from "node:os";

/** Who runs the program. A container may give it a number that has no entry in the list of users. */
export function userName(
  ask: () => { readonly username: string } = userInfo,
  number: () => number | undefined = () => process.getuid?.(),
): string {
  try {
    return ask().username;
  } catch {
    const own = number();
    return own === undefined ? "unknown" : `uid ${own}`;
  }
}
