import { isLoopback } from "../../runtime/loopback.js";
import { isPasswordHash, parsePasswordHash } from "../../runtime/password-hash.js";
import { fewestCharacters, passwordWeakness, shortestPassword } from "../../runtime/weak-password.js";
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

/** Whoever guesses a password from the network moves actuators. */
export function strongPasswordsBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  if (isLoopback(brokerHost(broker))) return [];
  return itemsOf(broker, "users").flatMap((user, at): Finding[] => {
    const password = textOf(asDraft(user), "password");
    if (password === null || isPasswordHash(password)) return [];
    const weakness = passwordWeakness(password);
    return weakness === null
      ? []
      : [
          {
            path: ["broker", "users", at, "password"],
            on: "value",
            message: `expected at least ${shortestPassword} characters, ${fewestCharacters} of them different, and no common password, because other machines can reach the broker; ${weakness}`,
          },
        ];
  });
}

/** The broker would not start with it. */
export function readableHashes(root: Draft): Finding[] {
  return itemsOf(sectionOf(root, "broker"), "users").flatMap((user, at): Finding[] => {
    const password = textOf(asDraft(user), "password");
    if (password === null || !isPasswordHash(password) || parsePasswordHash(password) !== null) return [];
    return [
      {
        path: ["broker", "users", at, "password"],
        on: "value",
        message: "looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd",
      },
    ];
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
  const taken = new Map<number, Listener>();
  return listeners(root).flatMap((listener): Finding[] => {
    const owner = taken.get(listener.port);
    if (owner === undefined || listener.port === 0) {
      taken.set(listener.port, listener);
      return [];
    }
    // A default cannot be pointed at, so then the port that was written is the one to change.
    const [first, second] = listener.written ? [owner, listener] : [listener, owner];
    const message = `${first.path.join(".")} listens at this port already`;
    return [{ path: second.path, on: "value", message }];
  });
}

interface Listener {
  readonly path: Path;
  readonly port: number;
  readonly written: boolean;
}

function listeners(root: Draft): Listener[] {
  const broker = sectionOf(root, "broker");
  const tls = sectionOf(broker, "tls");
  const listener = (used: boolean, section: Draft, path: Path, standard: number | null): Listener[] => {
    const written = numberOf(section, String(path.at(-1)));
    const port = written ?? standard;
    return used && port !== null ? [{ path, port, written: written !== null }] : [];
  };
  const embedded = !given(sectionOf(root, "mqtt"), "url");
  const encrypted = embedded && given(tls, "cert") && given(tls, "key");
  return [
    ...listener(embedded, broker, ["broker", "port"], 1883),
    ...listener(embedded, broker, ["broker", "websocket_port"], null),
    ...listener(encrypted, tls, ["broker", "tls", "port"], 8883),
    ...listener(root.http !== false, sectionOf(root, "http"), ["http", "port"], 8099),
  ];
}
