import { changed, msg, row, type Text, textOf } from "../../language/text.js";
import { ignored } from "../../runtime/failures.js";
import { createServer } from "node:net";
import { features } from "../../config/features.js";
import type { Configuration } from "../../config/schema.js";
import { holderOf } from "../../journal/lock.js";
import { brokerName, versionName, versionReason } from "../../mqtt/connection/link.js";
import { topicsUnder } from "../../mqtt/topics.js";
import { cameWithin } from "../../runtime/clock.js";
import { errorCode } from "../../runtime/file-system.js";
import { silentLog } from "../../runtime/log.js";
import { isLoopback } from "../../runtime/sockets.js";
import {
  BrokerClient,
  hasLogin,
  LinkLost,
  needsProof,
  openClient,
  settingsBeside,
} from "../../beside/broker-client.js";
import { isOwnBroker } from "../../beside/own-socket.js";
import { failed, notTried, ok, type Verdict, warning } from "./finding.js";
import type { Check, DoctorContext } from "./context.js";

interface Opened {
  readonly probe: BrokerClient;
  readonly name: Text;
  /** Connected like any other client, without the bridge's own rights. */
  readonly isGuest: boolean;
}

async function open(
  context: DoctorContext,
  settings: ReturnType<typeof settingsBeside>,
  key: string,
): Promise<Opened | Verdict> {
  const { ports, limits } = context;
  const name = brokerName(settings.url);
  const probe = await openClient(settings, ports.clock, limits.connectMs);
  if (probe instanceof BrokerClient) return { probe, name, isGuest: false };
  const whole = String(probe.reason).startsWith(String(name)) ? probe.reason : row`${name}: ${probe.reason}`;
  if (!remedyMark.test(String(whole))) return failed(whole, msg`check ${key}`);
  return failed(
    changed(whole, (said) => said.slice(0, remedyMark.exec(said)?.index)),
    changed(whole, (said) => said.slice((remedyMark.exec(said)?.index ?? said.length) + 1).trim()),
  );
}

/** Where the remedy begins in a link's error, in each language. */
const remedyMark = /: (?=check|is |use|put|allow|change|renew|give|raise|look)|：/;

/**
 * Beside a running bridge, connects to its embedded broker like any client. Otherwise starts one as configured, but on
 * a free port of this computer only, so that no client finds it; of the configured port it only checks that it is free.
 */
async function openAtEmbedded(context: DoctorContext): Promise<Opened | Verdict> {
  const { configuration } = context;
  if ((await holderOf(configuration.data_dir)) !== null) return await openAtRunning(context);
  const { host, port } = configuration.broker;
  const busy = await whyBusy(host, port);
  if (busy !== null) return busy;
  try {
    const embedded = await features.broker.start(onFreePorts(configuration), {
      clock: context.ports.clock,
      log: silentLog,
      journal: { append: () => Promise.resolve() },
    });
    if (embedded === null) return notTried(msg`there is no link to the broker`);
    context.evidence.endings.push(() => embedded.close());
    const access = await open(context, settingsBeside(configuration, embedded), "broker");
    return "probe" in access ? { ...access, name: msg`the embedded broker (port ${port} is free)` } : access;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "BrokerStartError") throw error;
    return failed(msg`the embedded broker does not start: ${textOf(error)}`, msg`correct the section broker`);
  }
}

/** If all configured passwords are hashes, a refusal is the right answer. */
async function openAtRunning({ configuration, ports, limits }: DoctorContext): Promise<Opened | Verdict> {
  const name = msg`the embedded broker of the running bridge`;
  if (needsProof(configuration) && !(await isOwnBroker(configuration, new AbortController().signal)))
    return warning(
      msg`${name} was not tried: no password is sent to port ${configuration.broker.port} before the bridge has said at its socket in data_dir that it listens there`,
      msg`run this as the user that runs the bridge`,
    );
  const probe = await openClient(settingsBeside(configuration), ports.clock, limits.connectMs);
  if (probe instanceof BrokerClient) return { probe, name, isGuest: true };
  return probe.kind === "refused" && !hasLogin(configuration)
    ? ok(msg`${name} answers and wants a password; those in the configuration are only hashes`)
    : failed(row`${name}: ${probe.reason}`, msg`look at the log of the bridge`);
}

function onFreePorts({ broker, ...others }: Configuration): Configuration {
  const webSocket = broker.websocket_port === undefined ? {} : { websocket_port: 0 };
  const free = { host: "127.0.0.1", port: 0, tls: { ...broker.tls, port: 0 }, ...webSocket };
  return { ...others, broker: { ...broker, ...free } };
}

/** Opens the configured port for a moment. Null if the bridge could have it. */
function whyBusy(host: string, port: number): Promise<Verdict | null> {
  return new Promise((resolve) => {
    const server = createServer();
    const taken = failed(
      msg`port ${port} for the embedded broker is in use by another program`,
      msg`if that is Mosquitto, set mqtt.url to it; else set broker.port to a free port`,
    );
    server.once("error", (error) => {
      const code = errorCode(error);
      const why = msg`the embedded broker cannot listen on ${host}, port ${port} (${code})`;
      resolve(code === "EADDRINUSE" ? taken : failed(why, msg`check broker.host and broker.port`));
    });
    server.listen({ host: host.replace(/^\[|\]$/g, ""), port, exclusive: true }, () => {
      server.close(() => resolve(null));
    });
  });
}

/** Bytes of the bridge's largest message, `bridge/controllers`, with room for its topic. */
const largestMessage = 256 * 1024 + 4096;

type OnProbe = (probe: BrokerClient, context: DoctorContext) => Verdict | Promise<Verdict>;

/** A check on the one link that "broker" has opened. */
const onProbe =
  (check: OnProbe) =>
  async (context: DoctorContext): Promise<Verdict> => {
    const { broker } = context.evidence;
    return broker === null ? notTried(msg`there is no link to the broker`) : await check(broker, context);
  };

/** A check that only the bridge's own link has the rights for. */
const asBridge = (check: OnProbe) =>
  onProbe((probe, context) =>
    context.evidence.isGuest
      ? notTried(msg`only the running bridge itself has these rights at its embedded broker`)
      : check(probe, context),
  );

/** Rights are tried on the bridge's own test topic; nothing is ever published to a topic of an actuator. */
export const brokerChecks: readonly Check[] = [
  { id: "broker", needs: [], run: openVerdict },
  { id: "broker.version", needs: ["broker"], run: onProbe(versionVerdict) },
  { id: "broker.publish", needs: ["broker"], run: asBridge(publishVerdict) },
  { id: "broker.subscribe", needs: ["broker"], run: asBridge(subscribeVerdict) },
  { id: "broker.retained", needs: ["broker.publish"], run: asBridge(retainedVerdict) },
  { id: "broker.packet_size", needs: ["broker"], run: onProbe(sizeVerdict) },
  { id: "broker.anonymous", needs: ["broker"], run: anonymousVerdict },
  { id: "broker.announce", needs: ["broker"], run: asBridge(announceVerdict) },
  { id: "home_assistant", needs: ["broker"], run: onProbe(homeAssistantVerdict) },
];

async function openVerdict(context: DoctorContext): Promise<Verdict> {
  const { url } = context.configuration.mqtt;
  const access =
    url === undefined
      ? await openAtEmbedded(context)
      : await open(context, settingsBeside(context.configuration), "mqtt.url");
  if (!("probe" in access)) return access;
  const { probe, name, isGuest } = access;
  context.evidence.broker = probe;
  context.evidence.isGuest = isGuest;
  context.evidence.endings.push(() => probe.close());
  return ok(msg`${name} lets us in`);
}

function versionVerdict({ facts }: BrokerClient, { configuration }: DoctorContext): Verdict {
  const wanted = configuration.mqtt.protocol_version;
  const used = msg`${versionName(facts.protocolVersion)} is used, because ${versionReason(wanted, facts.protocolVersion)}`;
  if (facts.protocolVersion === 5) return ok(used);
  const onlyThen = msg`only then the broker drops old commands, and the bridge refuses live ones with the retain flag`;
  return warning(
    used,
    wanted === 5
      ? msg`use a broker with MQTT 5, such as Mosquitto 2: ${onlyThen}; Home Assistant 2027.1 needs it too`
      : msg`set mqtt.protocol_version to 5 unless the broker cannot do it: ${onlyThen}`,
  );
}

const testTopic = ({ configuration }: DoctorContext): string =>
  `${configuration.mqtt.base_topic}/bridge/doctor`;

const accessList = ({ configuration }: DoctorContext, right: Text): Text => {
  const { username, base_topic } = configuration.mqtt;
  const who = username === undefined ? msg`clients without a user name` : msg`the user of mqtt.username`;
  return msg`allow ${who} to ${right} ${base_topic}/# in the broker's access list`;
};

/** Publishes to a topic and waits for the message to come back. `taken` on MQTT 3.1.1 says nothing about permission. */
async function roundTrip(
  probe: BrokerClient,
  topic: string,
  payload: string,
  { ports, limits }: DoctorContext,
) {
  let end: () => void = () => undefined;
  const back = new Promise<void>((resolve) => {
    end = probe.watch((message) => {
      if (message.topic === topic && message.payload.toString() === payload) resolve();
    });
  });
  const granted = (await probe.subscribe([topic])).length === 0;
  const { published, why } = await probe.publish(topic, payload).then(
    () => ({ published: "taken" as const, why: "" }),
    (error: unknown) => ({
      published: error instanceof LinkLost ? ("lost" as const) : ("refused" as const),
      why: textOf(error),
    }),
  );
  const arrived =
    granted && published === "taken" && (await cameWithin(ports.clock, limits.roundTripMs, back));
  await probe.unsubscribe([topic]);
  end();
  return { published, granted, arrived, why };
}

const tryOnce = (probe: BrokerClient, context: DoctorContext) =>
  roundTrip(probe, testTopic(context), `doctor ${Math.floor(context.ports.random() * 1e9)}`, context);

async function publishVerdict(probe: BrokerClient, context: DoctorContext): Promise<Verdict> {
  const { published, arrived, granted, why } = await tryOnce(probe, context);
  const remedy = accessList(context, msg`publish`);
  if (published === "refused") return failed(msg`the broker refuses what we publish (${why})`, remedy);
  if (published === "lost") return failed(msg`the broker ended the link when we published: ${why}`, remedy);
  // MQTT 3.1.1 cannot refuse: forbidden messages are acknowledged and dropped.
  if (probe.facts.protocolVersion === 4 && !arrived)
    return failed(
      granted
        ? msg`the broker took our message but never gave it back: it may not be published, or not be read`
        : msg`the broker took our message; MQTT 3.1.1 does not say whether it may pass`,
      accessList(context, msg`publish and subscribe to`),
    );
  return ok(msg`we may publish (tried on ${testTopic(context)})`);
}

async function subscribeVerdict(probe: BrokerClient, context: DoctorContext): Promise<Verdict> {
  const topics = topicsUnder(context.configuration.mqtt.base_topic);
  const remedy = accessList(context, msg`subscribe to`);
  const refused = await probe.subscribe(topics.subscriptions);
  await probe.unsubscribe(topics.subscriptions);
  if (refused.length > 0)
    return failed(
      msg`the broker does not let us subscribe to ${refused.join(", ")}: no command can arrive`,
      remedy,
    );
  const { published, arrived, granted } = await tryOnce(probe, context);
  if (!granted) return failed(msg`the broker does not let us subscribe to ${testTopic(context)}`, remedy);
  if (published !== "taken")
    return ok(msg`we may subscribe to commands and requests (not tried with a message)`);
  return arrived
    ? ok(msg`we may subscribe to commands and requests, and a message of ours came back`)
    : failed(
        msg`the broker takes our subscription but holds back the messages, so no command can arrive`,
        remedy,
      );
}

async function retainedVerdict(probe: BrokerClient, context: DoctorContext): Promise<Verdict> {
  const remedy = msg`allow retained messages there (Mosquitto: retain_available true): states live in them`;
  if (!probe.facts.retainAvailable) return failed(msg`the broker keeps no retained messages`, remedy);
  const topic = testTopic(context);
  const payload = `retained ${Math.floor(context.ports.random() * 1e9)}`;
  try {
    await probe.publish(topic, payload, true);
  } catch (error) {
    return failed(msg`the broker refuses a retained message (${textOf(error)})`, remedy);
  }
  const isKept = (await probe.readRetained([topic])).found.get(topic) === payload;
  await probe.publish(topic, "", true).catch(ignored);
  return isKept
    ? ok(msg`the broker keeps retained messages (the test message was cleared again)`)
    : failed(
        msg`the broker took a retained message but does not give it back`,
        msg`${remedy}; or ${accessList(context, msg`read`)}`,
      );
}

function sizeVerdict({ facts }: BrokerClient): Verdict {
  const { maximumPacketSize: most, protocolVersion } = facts;
  if (most === null)
    return ok(
      protocolVersion === 5
        ? msg`the broker sets no limit on packets`
        : msg`unknown: MQTT 3.1.1 announces no limit`,
    );
  if (most >= largestMessage) return ok(msg`packets up to ${most} bytes are taken`);
  return warning(
    msg`the broker takes packets of at most ${most} bytes, and our largest may have ${largestMessage}; a long list of controllers or a large announcement to Home Assistant would not be published`,
    msg`raise its limit (Mosquitto: max_packet_size ${largestMessage})`,
  );
}

async function anonymousVerdict(context: DoctorContext): Promise<Verdict> {
  const { mqtt, broker } = context.configuration;
  if (mqtt.url === undefined)
    return broker.users.length > 0
      ? ok(msg`the embedded broker wants a user name and password`)
      : ok(msg`the embedded broker takes clients without a password, of this computer only`);
  if (mqtt.username !== undefined) {
    const nobody = { ...settingsBeside(context.configuration), username: undefined, password: undefined };
    const probe = await openClient(nobody, context.ports.clock, context.limits.connectMs);
    if (!(probe instanceof BrokerClient))
      return probe.kind === "refused"
        ? ok(msg`the broker refuses clients without a user name`)
        : notTried(msg`the second connection did not come about: ${probe.reason}`);
    await probe.close();
  }
  const who = isLoopback(new URL(mqtt.url).hostname)
    ? msg`whoever reaches it`
    : msg`everybody on this network`;
  return warning(
    msg`the broker lets clients in without a user name: ${who} may move actuators`,
    msg`let the broker ask for passwords (Mosquitto: allow_anonymous false and a password_file), and set mqtt.username and mqtt.password`,
  );
}

/** Publishes an empty message about a device that does not exist, which Home Assistant ignores. */
async function announceVerdict(probe: BrokerClient, context: DoctorContext): Promise<Verdict> {
  const { enabled, discovery_prefix: prefix } = context.configuration.homeassistant;
  if (!enabled) return notTried(msg`homeassistant.enabled is false`);
  const topic = `${prefix}/device/greenhouse2mqtt_doctor/config`;
  const { published, arrived, granted } = await roundTrip(probe, topic, "", context);
  const isForbidden = published !== "taken" || (probe.facts.protocolVersion === 4 && granted && !arrived);
  return isForbidden
    ? failed(
        msg`we may not publish below ${prefix}/, so Home Assistant would never hear of us`,
        msg`allow it in the broker's access list (${prefix}/device/+/config), or set homeassistant.enabled to false`,
      )
    : ok(msg`we may announce devices below ${prefix}/`);
}

async function homeAssistantVerdict(probe: BrokerClient, context: DoctorContext): Promise<Verdict> {
  const { homeassistant, mqtt } = context.configuration;
  const state = `${mqtt.base_topic}/bridge/state`;
  const prefix = homeassistant.discovery_prefix;
  const filters = [state, homeassistant.status_topic, `${prefix}/+/+/config`, `${prefix}/+/+/+/config`];
  const { found } = await probe.readRetained(filters);
  context.evidence.bridgeOnline = found.get(state) === "online";
  if (!homeassistant.enabled) return notTried(msg`homeassistant.enabled is false`);
  if (mqtt.url === undefined && !context.evidence.bridgeOnline)
    return notTried(msg`the embedded broker runs only together with the bridge`);
  const status = found.get(homeassistant.status_topic);
  if (status === "online") return ok(msg`Home Assistant is online (${homeassistant.status_topic})`);
  if (status !== undefined)
    return warning(
      msg`Home Assistant said "${status.slice(0, 20)}" last (${homeassistant.status_topic})`,
      msg`start it, or look at its MQTT integration`,
    );
  const announced = [...found.keys()].filter((topic) => topic.startsWith(`${prefix}/`)).length;
  if (announced > 0)
    return ok(
      msg`${announced} announcements for Home Assistant are at this broker; it keeps no status of its own there`,
    );
  return warning(
    msg`nothing of Home Assistant is to be seen at this broker`,
    msg`connect its MQTT integration to this broker (its birth message is not retained by default, so it may be there all the same); or set homeassistant.enabled to false`,
  );
}
