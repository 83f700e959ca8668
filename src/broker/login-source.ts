import { isIPv6 } from "node:net";
import { isLoopback } from "../runtime/loopback.js";

/**
 * Where a login comes from, as far as nobody can change it at will: this computer has 16 million addresses of its own, and
 * a machine with IPv6 a whole network of them.
 */
export function sourceOf(address: string): string {
  if (isLoopback(address)) return "this computer";
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? `${networkOf(address)}::/64` : address;
}

function networkOf(address: string): string {
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const first = groups(head);
  const last = groups(tail ?? "");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  const all = tail === undefined ? first : [...first, ...zeros, ...last];
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
