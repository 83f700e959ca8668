import type { PushChannel } from "../../greenhouse/push.js";
import type { Operation } from "../operations.js";
import { pathCode } from "../request-path.js";

/**
 * The channel as an operation of the real-time host, for paths and messages. Throws `invalid_request` for a device code
 * that could lead the path elsewhere.
 */
export function channelOperation(channel: PushChannel): Operation {
  if (channel.type !== "weather-station") return operation(`/ws/${channel.type}`, `ws/${channel.type}`);
  const plain = operation("/ws/sensor-data/weather-station-data", "ws/sensor-data");
  const code = encodeURIComponent(pathCode(channel.code, plain));
  return operation(`${plain.path}/${code}`, plain.name);
}

const operation = (path: string, name: string): Operation => ({
  host: "realtime",
  method: "GET",
  path,
  name,
  label: `WS ${path}`,
  maxAnswerMiB: 1,
});
