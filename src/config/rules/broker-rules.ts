import { isLoopback } from "../loopback.js";
import { isPasswordHash } from "../password-hash.js";
import type { Finding, Path } from "../problem.js";
import { asDraft, given, itemsOf, numberOf, sectionOf, textOf, type Draft } from "./draft.js";

const brokerHost = (broker: Draft) => textOf(broker, "host") ?? "127.0.0.1";

/** A broker that other machines can reach moves actuators for whoever connects. */
export function usersBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  if (
    isLoopback(brokerHost(broker)) ||
    itemsOf(broker, "users").length > 0 ||
    typeof broker.users === "symbol"
  )
    return [];
  return [
    {
      path: ["broker", "host"],
      on: "value",
      message:
        "other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1",
    },
  ];
}

const shortestPassword = 12;
const fewestCharacters = 5;

/** Whoever guesses a password from the network moves actuators. */
export function strongPasswordsBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  if (isLoopback(brokerHost(broker))) return [];
  return itemsOf(broker, "users").flatMap((user, at): Finding[] => {
    const password = textOf(asDraft(user), "password");
    if (password === null || isPasswordHash(password)) return [];
    const weak = password.length < shortestPassword || new Set(password).size < fewestCharacters;
    return weak
      ? [
          {
            path: ["broker", "users", at, "password"],
            on: "value",
            message: `expected at least ${shortestPassword} characters, ${fewestCharacters} of them different, because other machines can reach the broker`,
          },
        ]
      : [];
  });
}

export function distinctUsers(root: Draft): Finding[] {
  const seen = new Set<string>();
  return itemsOf(sectionOf(root, "broker"), "users").flatMap((user, at): Finding[] => {
    const name = textOf(asDraft(user), "username");
    if (name === null) return [];
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [
      { path: ["broker", "users", at, "username"], on: "value", message: "another user above has this name" },
    ];
  });
}

/** One port, one listener. Port 0 means any free one. */
export function distinctPorts(root: Draft): Finding[] {
  const taken = new Map<number, string>();
  return listeners(root).flatMap(({ path, port }): Finding[] => {
    const owner = taken.get(port);
    if (owner !== undefined && port !== 0)
      return [{ path, on: "value", message: `${owner} listens at this port already` }];
    taken.set(port, path.join("."));
    return [];
  });
}

function listeners(root: Draft): { readonly path: Path; readonly port: number }[] {
  const broker = sectionOf(root, "broker");
  const tls = sectionOf(broker, "tls");
  const embedded = !given(sectionOf(root, "mqtt"), "url");
  const encrypted = given(tls, "cert") && given(tls, "key");
  const candidates: (readonly [boolean, Path, number | null])[] = [
    [embedded, ["broker", "port"], numberOf(broker, "port") ?? 1883],
    [embedded, ["broker", "websocket_port"], numberOf(broker, "websocket_port")],
    [embedded && encrypted, ["broker", "tls", "port"], numberOf(tls, "port") ?? 8883],
    [root.http !== false, ["http", "port"], numberOf(sectionOf(root, "http"), "port") ?? 8099],
  ];
  return candidates.flatMap(([used, path, port]) => (used && port !== null ? { path, port } : []));
}
