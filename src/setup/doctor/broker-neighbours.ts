import { isLoopback } from "../../runtime/sockets.js";
import { probeSettings } from "./broker-checks.js";
import { BrokerProbe, openProbe } from "./broker-probe.js";
import { failed, notTried, ok, type Verdict, warning } from "./finding.js";
import type { Check, Scene } from "./scene.js";

/** Who else is at the broker. */
export const neighbourChecks: readonly Check[] = [
  { id: "broker.anonymous", needs: ["broker"], run: anonymousVerdict },
  { id: "broker.announce", needs: ["broker"], run: announceVerdict },
  { id: "home_assistant", needs: ["broker"], run: homeAssistantVerdict },
];

async function anonymousVerdict(scene: Scene): Promise<Verdict> {
  const { mqtt, broker } = scene.configuration;
  if (mqtt.url === undefined)
    return broker.users.length > 0
      ? ok("the embedded broker wants a user name and password")
      : ok("the embedded broker takes clients without a password, of this computer only");
  if (mqtt.username !== undefined) {
    const nobody = { ...probeSettings(scene, null), username: undefined, password: undefined };
    const probe = await openProbe(nobody, scene.ports.clock, scene.limits.connectMs);
    if (!(probe instanceof BrokerProbe))
      return probe.kind === "refused"
        ? ok("the broker refuses clients without a user name")
        : notTried(`the second connection did not come about: ${probe.reason}`);
    await probe.close();
  }
  const remedy =
    "let the broker ask for passwords (Mosquitto: allow_anonymous false and a password_file), and set mqtt.username and mqtt.password";
  return isLoopback(new URL(mqtt.url).hostname)
    ? warning("the broker lets clients in without a user name: whoever reaches it may move actuators", remedy)
    : warning(
        "the broker lets clients in without a user name: everybody on this network may move actuators",
        remedy,
      );
}

/** An empty message about a device nobody knows; Home Assistant passes over it. */
async function announceVerdict(scene: Scene): Promise<Verdict> {
  const { broker } = scene.evidence;
  const { homeassistant } = scene.configuration;
  if (!homeassistant.enabled) return notTried("homeassistant.enabled is false");
  if (broker === null) return notTried("there is no link to the broker");
  if (scene.evidence.isGuest)
    return notTried("only the running bridge itself may announce at its embedded broker");
  const prefix = homeassistant.discovery_prefix;
  const topic = `${prefix}/device/greenhouse2mqtt_doctor/config`;
  const { published, arrived, granted } = await broker.roundTrip(topic, "", scene.limits.roundTripMs);
  const isForbidden = published !== "taken" || (broker.facts.protocolVersion === 4 && granted && !arrived);
  return isForbidden
    ? failed(
        `we may not publish below ${prefix}/, so Home Assistant would never hear of us`,
        `allow it in the broker's access list (${prefix}/device/+/config), or set homeassistant.enabled to false`,
      )
    : ok(`we may announce devices below ${prefix}/`);
}

async function homeAssistantVerdict(scene: Scene): Promise<Verdict> {
  const { broker } = scene.evidence;
  const { homeassistant, mqtt } = scene.configuration;
  if (broker === null) return notTried("there is no link to the broker");
  const state = `${mqtt.base_topic}/bridge/state`;
  const prefix = homeassistant.discovery_prefix;
  const filters = [state, homeassistant.status_topic, `${prefix}/+/+/config`, `${prefix}/+/+/+/config`];
  const found = await broker.retained(filters, scene.limits.quietMs);
  scene.evidence.bridgeOnline = found.get(state) === "online";
  if (!homeassistant.enabled) return notTried("homeassistant.enabled is false");
  if (mqtt.url === undefined && !scene.evidence.bridgeOnline)
    return notTried("the embedded broker runs only together with the bridge");
  const status = found.get(homeassistant.status_topic);
  if (status === "online") return ok(`Home Assistant is online (${homeassistant.status_topic})`);
  if (status !== undefined)
    return warning(
      `Home Assistant said "${status.slice(0, 20)}" last (${homeassistant.status_topic})`,
      "start it, or look at its MQTT integration",
    );
  const announced = [...found.keys()].filter((topic) => topic.startsWith(`${prefix}/`)).length;
  if (announced > 0)
    return ok(
      `${announced} announcements for Home Assistant are at this broker; it keeps no status of its own there`,
    );
  return warning(
    "nothing of Home Assistant is to be seen at this broker",
    `connect its MQTT integration to this broker (its birth message is not retained by default, so it may be there all the same); or set homeassistant.enabled to false`,
  );
}
