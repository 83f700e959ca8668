import { platform, tokenEnv } from "../config/loading.js";
import { otherClient, stateTopic, testBroker } from "../mqtt-connection/support.js";
import { fileWith, greenhouse2mqtt } from "./in-process.js";

export type Fields = Readonly<Record<string, unknown>>;

/**
 * A broker with a bridge that is online and takes what comes on `filter`: it publishes `answersTo` it, by topic. `run` calls the
 * program with a configuration that leads there; the name of the command comes first.
 */
export async function besideBridge(
  filter: string,
  answersTo: (topic: string, asked: Fields) => readonly (readonly [topic: string, answer: Fields])[],
  more = "",
) {
  const broker = await testBroker();
  const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
  bridge.on("message", (topic, payload) => {
    for (const [to, answer] of answersTo(topic, JSON.parse(payload.toString()) as Fields))
      bridge.publish(to, JSON.stringify(answer), { qos: 1 });
  });
  await bridge.subscribeAsync(filter, { qos: 1 });
  const keep = (topic: string, payload: string) =>
    bridge.publishAsync(topic, payload, { retain: true, qos: 1 });
  await keep(stateTopic, "online");
  const config = await fileWith(`${platform}mqtt: { url: "${broker.url}" }\n${more}`);
  const run = ([name = "", ...words]: readonly string[], call: Parameters<typeof greenhouse2mqtt>[1] = {}) =>
    greenhouse2mqtt([name, "-c", config, ...words], { env: tokenEnv, ...call });
  return { keep, run };
}
