/*
 * Spelling of Sparkplug topics. Group and node come from the configuration, which forbids `/`, `+` and `#` in them; a
 * device is a controller's topic id.
 */

const namespace = "spBv1.0";

/** The metric by which hosts ask for a rebirth. */
export const rebirthName = "Node Control/Rebirth";

export interface NodeName {
  readonly group: string;
  readonly node: string;
}

/** The meaning of a message on the node's own topics or on its host's. */
export type Heard =
  | { readonly type: "node_command" }
  | { readonly type: "device_command"; readonly device: string }
  | { readonly type: "birth" | "death" }
  | { readonly type: "state"; readonly isOld: boolean };

export function sparkplugTopics({ group, node }: NodeName, primaryHost: string | undefined) {
  const root = (verb: string) => `${namespace}/${group}/${verb}/${node}`;
  const host = primaryHost ?? null;
  const states = host === null ? [] : [`${namespace}/STATE/${host}`, `STATE/${host}`];
  const [state, oldState] = states;
  const deviceCommand = `${root("DCMD")}/`;
  return {
    nodeBirth: root("NBIRTH"),
    nodeData: root("NDATA"),
    nodeDeath: root("NDEATH"),
    nodeCommand: root("NCMD"),
    deviceBirth: (device: string) => `${root("DBIRTH")}/${device}`,
    deviceData: (device: string) => `${root("DDATA")}/${device}`,
    deviceDeath: (device: string) => `${root("DDEATH")}/${device}`,
    /** Subscriptions that have to be granted before any birth, as hosts have to be able to ask. */
    subscriptions: [root("NCMD"), `${deviceCommand}+`],
    /** Topics of the primary host's state, in the specification and in version 2. */
    states,
    /** Topics on which another node with our name would show. */
    own: [root("NBIRTH"), root("NDEATH")],
    parse: (topic: string): Heard | null => {
      if (topic === root("NCMD")) return { type: "node_command" };
      if (topic.startsWith(deviceCommand))
        return { type: "device_command", device: topic.slice(deviceCommand.length) };
      if (topic === root("NBIRTH")) return { type: "birth" };
      if (topic === root("NDEATH")) return { type: "death" };
      if (topic === state) return { type: "state", isOld: false };
      return topic === oldState ? { type: "state", isOld: true } : null;
    },
  };
}

/** Parses a host's state: JSON on the specification's topic, a word on that of version 2; null for anything else. */
export function hostWord(payload: Uint8Array, isOld: boolean) {
  const text = new TextDecoder().decode(payload.subarray(0, 1_024));
  if (isOld) {
    if (text !== "ONLINE" && text !== "OFFLINE") return null;
    return { isOnline: text === "ONLINE", timestamp: null };
  }
  const said = jsonOf(text);
  if (typeof said !== "object" || said === null || !("online" in said) || !("timestamp" in said)) return null;
  const { online, timestamp } = said;
  if (typeof online !== "boolean" || typeof timestamp !== "number" || !(timestamp >= 0)) return null;
  return { isOnline: online, timestamp };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
