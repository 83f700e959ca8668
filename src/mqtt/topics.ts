import { addressPattern, type TargetKind, targetKinds } from "../greenhouse/model.js";
import type { GroupOrScene } from "../greenhouse/groups.js";
import { reservedControllerIds, topicIdPattern } from "../greenhouse/topic-ids.js";

/*
 * How topics are spelt. Ids are already topic-safe (`[a-z0-9_-]{1,64}`, see greenhouse/topic-ids.ts); the builders refuse
 * anything else, because one `#` in a published topic cuts the link for good. Only answers to commands, whose ids a sender
 * may have invented, are spelt where they are sent (outbox.ts, commands/service.ts), and checked as a whole there.
 */

/** The names of all requests, `<base>/bridge/request/<name>`; src/status/requests.ts says what each does. */
export const bridgeRequests = [
  "refresh",
  "republish",
  "read",
  "get",
  "journal",
  "log_level",
  "read_only",
  "health",
  "acknowledge",
  "lock",
  "unlock",
  "release",
  "state",
  "bundle",
  "notify_test",
  "notify_daily",
] as const;

export type Incoming =
  | {
      readonly type: "command";
      readonly controllerId: string;
      readonly target: TargetKind;
      readonly id: string;
    }
  | { readonly type: "request"; readonly name: string }
  | { readonly type: "group"; readonly kind: GroupOrScene; readonly id: string };

const retainedLeaves = [
  ...[
    "availability",
    "info",
    "tags",
    "problem",
    "problems",
    "reading_alarms",
    "sensor/+",
    "sensor/+/quality",
  ],
  ...["sensor/+/quality_code", "sensor/+/measured_at", "sensor/+/json"],
  ...[
    "status/+",
    "status/+/state_code",
    "status/+/json",
    "parameter/+",
    "parameter/+/json",
    "parameter/+/command",
  ],
  ...["address/+", "address/+/command"],
  ...["state", "state_code", "quality_code", "position", "value", "json", "command"].map(
    (leaf) => `actuator/+/${leaf}`,
  ),
  ...["allowed", "lock", "lease", "run_time"].map((leaf) => `actuator/+/${leaf}`),
];

export type Topics = ReturnType<typeof topicsUnder>;

function id(text: string): string {
  if (!topicIdPattern.test(text)) throw new Error(`not a topic id: ${JSON.stringify(text.slice(0, 80))}`);
  return text;
}

type AskedKey = "codes" | "plain_times";

/** Leaves that exist only if configured, each with its key. */
const askedLeaves: ReadonlyMap<string, AskedKey> = new Map([
  ["quality_code", "codes"],
  ["state_code", "codes"],
  ["measured_at", "plain_times"],
]);

/** `codes`: states and qualities have topics with integers too; `plain_times`: the time of a reading has one. */
type Asked = Partial<Readonly<Record<AskedKey, boolean>>>;

export function topicsUnder(base: string, { codes = false, plain_times: plainTimes = false }: Asked = {}) {
  const asked = { codes, plain_times: plainTimes };
  return {
    base,
    codes,
    plainTimes,
    /** Whether topics with this ending may exist. */
    hasLeaf: (leaf: string): boolean => {
      const key = askedLeaves.get(leaf);
      return key === undefined || asked[key];
    },
    bridge: bridgeTopics(base),
    alarm: (alarm: string) => `${base}/alarm/${alarmSegment(alarm)}`,
    alarms: `${base}/alarm/+`,
    ...readTopics(base),
    ...commandedTopics(base),
    ...groupsAndScenes(base),
    /** Exact filters of all topics on which others send to the bridge. */
    subscriptions: [
      ...targetKinds.map((folder) => `${base}/+/${folder}/+/set`),
      ...["group", "scene"].map((kind) => `${base}/${kind}/+/set`),
      `${base}/bridge/request/+`,
    ],
    /** Filters of every retained topic of the controllers; none of them matches a `.../set`. */
    retained: retainedLeaves.map((rest) => `${base}/+/${rest}`),
    /** Self-test topics of other bridges, under any base topic with one to three levels or as many as ours. */
    othersSelfTest: othersSelfTest(base),
  };
}

const othersSelfTest = (base: string): readonly string[] =>
  [...new Set([1, 2, 3, base.split("/").length])].map(
    (levels) => bridgeTopics(Array.from({ length: levels }, () => "+").join("/")).selfTest,
  );

/** Topics of things that are only read. */
const readTopics = (base: string) => ({
  controller: (controller: string) => {
    const root = `${base}/${id(controller)}`;
    return {
      availability: `${root}/availability`,
      info: `${root}/info`,
      tags: `${root}/tags`,
      problem: `${root}/problem`,
      problems: `${root}/problems`,
      reading_alarms: `${root}/reading_alarms`,
      result: `${root}/result`,
    };
  },
  /** In the order of emptying: quality goes first, so that no emptied value has the old good quality. */
  sensor: (controller: string, sensor: string) => {
    const value = `${base}/${id(controller)}/sensor/${id(sensor)}`;
    return {
      quality: `${value}/quality`,
      quality_code: `${value}/quality_code`,
      value,
      measured_at: `${value}/measured_at`,
      json: `${value}/json`,
    };
  },
  status: (controller: string, status: string) => {
    const value = `${base}/${id(controller)}/status/${id(status)}`;
    return { value, state_code: `${value}/state_code`, json: `${value}/json` };
  },
});

/** Topics of things that take commands. */
const commandedTopics = (base: string) => ({
  actuator: (controller: string, actuator: string) => {
    const root = `${base}/${id(controller)}/actuator/${id(actuator)}`;
    return {
      state: `${root}/state`,
      state_code: `${root}/state_code`,
      quality_code: `${root}/quality_code`,
      position: `${root}/position`,
      value: `${root}/value`,
      json: `${root}/json`,
      allowed: `${root}/allowed`,
      lock: `${root}/lock`,
      lease: `${root}/lease`,
      run_time: `${root}/run_time`,
      ...commandTopics(root),
    };
  },
  parameter: (controller: string, parameter: string) => {
    const value = `${base}/${id(controller)}/parameter/${id(parameter)}`;
    return { value, json: `${value}/json`, ...commandTopics(value) };
  },
  address: (controller: string, address: string) => {
    const value = `${base}/${id(controller)}/address/${addressSegment(address)}`;
    return { value, ...commandTopics(value) };
  },
});

const commandTopics = (root: string) => ({
  command: `${root}/command`,
  set: `${root}/set`,
  result: `${root}/result`,
});

const groupLeaves = ["quality", "state", "position", "json"] as const;

/** Topics of things commanded together. A scene has no state, as what it sent may have been changed since. */
const groupsAndScenes = (base: string) => ({
  group: (group: string) => {
    const root = `${base}/group/${id(group)}`;
    return {
      quality: `${root}/quality`,
      state: `${root}/state`,
      position: `${root}/position`,
      json: `${root}/json`,
      set: `${root}/set`,
      result: `${root}/result`,
    };
  },
  scene: (scene: string) => {
    const root = `${base}/scene/${id(scene)}`;
    return { set: `${root}/set`, result: `${root}/result` };
  },
  /** Filters of the retained topics of groups. */
  groups: groupLeaves.map((leaf) => `${base}/group/+/${leaf}`),
});

const bridgeTopics = (base: string) => ({
  state: `${base}/bridge/state`,
  platform: `${base}/bridge/platform`,
  info: `${base}/bridge/info`,
  health: `${base}/bridge/health`,
  controllers: `${base}/bridge/controllers`,
  stations: `${base}/bridge/stations`,
  event: `${base}/bridge/event`,
  alarms: `${base}/bridge/alarms`,
  selfTest: `${base}/bridge/self_test`,
  /** Not retained: an acknowledgement here proves that the states before it have arrived. */
  mark: `${base}/bridge/mark`,
  request: (name: string) => `${base}/bridge/request/${id(name)}`,
  response: (name: string) => `${base}/bridge/response/${id(name)}`,
  /** Answers that commands ask for go below this topic. */
  answers: `${base}/response`,
});

function alarmSegment(alarm: string): string {
  if (!/^[a-z0-9_.-]{1,200}$/.test(alarm))
    throw new Error(`not an alarm: ${JSON.stringify(alarm.slice(0, 80))}`);
  return alarm;
}

function addressSegment(address: string): string {
  if (!addressPattern.test(address))
    throw new Error(`not an address: ${JSON.stringify(address.slice(0, 80))}`);
  return address;
}

/** The command or request that a message on a topic makes; null for none. */
export function incomingOn({ base }: Pick<Topics, "base">, topic: string): Incoming | null {
  // Nearly all that a broker holds of ours is neither, and comes here at each link.
  if (!topic.endsWith("/set") && !topic.startsWith(`${base}/bridge/request/`)) return null;
  if (!topic.startsWith(`${base}/`)) return null;
  const [controllerId, folder, name, verb, ...rest] = topic.slice(base.length + 1).split("/");
  if (controllerId === undefined || folder === undefined || name === undefined || rest.length > 0)
    return null;
  // An answer of ours, whatever its topic is called.
  if (controllerId === "response") return null;
  if (controllerId === "bridge" && folder === "request" && verb === undefined)
    return { type: "request", name };
  if ((controllerId === "group" || controllerId === "scene") && name === "set" && verb === undefined)
    return { type: "group", kind: controllerId, id: folder };
  if (verb !== "set") return null;
  if (folder !== "actuator" && folder !== "parameter" && folder !== "address") return null;
  return { type: "command", controllerId, target: folder, id: name };
}

/** The parts of a controller's retained topic. */
export interface Place {
  readonly controllerId: string;
  readonly folder: string;
  readonly id: string;
  readonly leaf: string;
}

const rootLeaves = new Set(["availability", "info", "tags", "problem", "problems", "reading_alarms"]);
const folders = new Set(["sensor", "status", ...targetKinds]);

/** Parses a retained topic of a controller; null for any other topic, and for command topics. */
export function placeOf(base: string, topic: string): Place | null {
  if (!topic.startsWith(`${base}/`)) return null;
  const [controllerId = "", folder = "", id = "", leaf = "", ...rest] = topic
    .slice(base.length + 1)
    .split("/");
  if (reservedControllerIds.has(controllerId) || rest.length > 0 || leaf === "set") return null;
  if (id === "") return rootLeaves.has(folder) ? { controllerId, folder: "", id: "", leaf: folder } : null;
  return folders.has(folder) ? { controllerId, folder, id, leaf } : null;
}
