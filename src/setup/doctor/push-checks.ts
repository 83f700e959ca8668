import type { PushChannel } from "../../greenhouse/ports.js";
import { isPlainCode } from "../../platform/operations.js";
import { notTried, ok, type Verdict, warning, within } from "./finding.js";
import { spoken } from "./network-checks.js";
import type { Check, Scene } from "./scene.js";

type ChannelOf = (scene: Scene) => PushChannel | null;

const channels: readonly (readonly [id: string, channel: ChannelOf])[] = [
  ["push.device-status", () => ({ type: "device-status" })],
  ["push.set-value", () => ({ type: "set-value" })],
  ["push.weather-station", weatherStation],
];

/** The three push channels. They are an extra beside polling, so none of them can fail a doctor. */
export const pushChecks: readonly Check[] = channels.map(([id]) => ({
  id,
  needs: ["realtime"],
  run: async (scene, signal) => {
    // All of them wait at the same time, so that three silent ones cost no more than one.
    scene.evidence.channels ??= new Map(
      channels.map(([each, channelOf]) => [
        each,
        channelVerdict(channelOf, scene, signal).catch((error: unknown) => notTried(String(error))),
      ]),
    );
    return (await scene.evidence.channels.get(id)) ?? notTried("it was not opened");
  },
}));

function weatherStation({ evidence }: Scene): PushChannel | null {
  const all = [...evidence.devices, ...evidence.controllers];
  const station = all.find(({ type, code }) => type === "W001" && isPlainCode(code));
  return station === undefined ? null : { type: "weather-station", code: station.code };
}

const off = "or set platform.push.enabled to false: polling does the same, only later";

/** Opens the channel as the bridge would, and waits for one frame. */
async function channelVerdict(channelOf: ChannelOf, scene: Scene, stop: AbortSignal): Promise<Verdict> {
  const { platform, configuration, ports, limits } = scene;
  if (!configuration.platform.push.enabled) return notTried("platform.push.enabled is false");
  const channel = channelOf(scene);
  if (channel === null) return notTried("the account lists no weather station (type W001)");
  const end = new AbortController();
  let verdict = warning(
    "it does not open: no answer to the upgrade",
    `check proxies and firewalls on the way, ${off}`,
  );
  const decided = (found: Verdict) => {
    verdict = found;
    end.abort();
  };
  const listening = {
    knows: () => true,
    opened: () => {
      verdict = warning(
        `opened, but no frame came within ${spoken(Math.round(limits.frameMs / 1000))}`,
        "nothing to do if nothing changed meanwhile; polling goes on beside it",
      );
    },
    news: ({ type }: { readonly type: string }) => decided(ok(`opened; the first frame tells ${type}`)),
    lost: () => undefined,
    closed: (why: string) => {
      const [what = why, remedy = "check proxies and firewalls on the way"] = why.split("; ");
      decided(warning(`it does not open: ${what}`, `${remedy}, ${off}`));
    },
  };
  await within(ports.clock, limits.frameMs, stop, (signal) =>
    platform.listen(channel, listening, AbortSignal.any([signal, end.signal])),
  );
  const name = `ws/${channel.type === "weather-station" ? "sensor-data" : channel.type}`;
  const unread = platform.shapeReports().find(({ operation }) => operation === name);
  if (unread === undefined || verdict.status === "ok") return verdict;
  return warning(`opened, but a frame cannot be read: ${unread.problem}`, off.slice(3));
}
