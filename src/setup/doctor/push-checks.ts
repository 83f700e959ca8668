import type { PushChannel } from "../../greenhouse/push.js";
import { channelOperation } from "../../platform/push/channels.js";
import { handshakeOf } from "../../platform/push/handshake.js";
import { isPlainCode } from "../../platform/request-path.js";
import { spoken } from "./clock-check.js";
import { within } from "./within.js";
import { tokenAtHand } from "./bearer.js";
import { notTried, ok, warning, type Verdict } from "./finding.js";
import { firstFrame, type FrameOutcome } from "./first-frame.js";
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

async function channelVerdict(channelOf: ChannelOf, scene: Scene, stop: AbortSignal): Promise<Verdict> {
  const { push, realtime_url, timeouts } = scene.configuration.platform;
  if (!push.enabled) return notTried("platform.push.enabled is false");
  const channel = channelOf(scene);
  if (channel === null) return notTried("the account lists no weather station (type W001)");
  const token = push.credential === "none" ? "" : await tokenAtHand(scene);
  if (token === null || /[^!-~]/.test(token)) return notTried("there is no token at hand for it");
  const { path } = channelOperation(channel);
  const settings = { credential: push.credential, queryName: push.query_name };
  const handshake = handshakeOf(realtime_url, path, { token }, settings);
  const { clock } = scene.ports;
  const outcome = await within(clock, scene.limits.frameMs, stop, (signal) =>
    firstFrame({ ...handshake, handshakeMs: timeouts.connect }, signal),
  );
  return verdictOf(outcome, scene.limits.frameMs);
}

function verdictOf(outcome: FrameOutcome, waitedMs: number): Verdict {
  const off = "or set platform.push.enabled to false: polling does the same, only later";
  switch (outcome.type) {
    case "frame":
      return outcome.shape === "binary"
        ? warning("opened; the first frame is binary, which is not understood", off.slice(3))
        : ok(`opened; first frame: ${outcome.shape}`);
    case "silent":
      return warning(
        `opened, but no frame came within ${spoken(Math.round(waitedMs / 1000))}`,
        "nothing to do if nothing changed meanwhile; polling goes on beside it",
      );
    case "refused":
      return outcome.status === 401 || outcome.status === 403
        ? warning(
            `the realtime host refuses the token there (HTTP ${outcome.status})`,
            `try another platform.push.credential (header, query, none), ${off}`,
          )
        : warning(
            `the realtime host does not open it (HTTP ${outcome.status})`,
            `check platform.realtime_url, ${off}`,
          );
    case "broken":
      return warning(`it does not open: ${outcome.why}`, `check proxies and firewalls on the way, ${off}`);
  }
}
