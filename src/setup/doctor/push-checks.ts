import { spoken } from "./clock-check.js";
import { within } from "./within.js";
import { tokenAtHand } from "./bearer.js";
import { notTried, ok, warning, type Verdict } from "./finding.js";
import { firstFrame, type FrameOutcome } from "./first-frame.js";
import type { Check, Scene } from "./scene.js";

type PathOf = (scene: Scene) => string | null;

const channels: readonly (readonly [id: string, path: PathOf])[] = [
  ["push.device-status", () => "/ws/device-status"],
  ["push.set-value", () => "/ws/set-value"],
  ["push.weather-station", weatherPath],
];

/** The three push channels. They are an extra beside polling, so none of them can fail a doctor. */
export const pushChecks: readonly Check[] = channels.map(([id]) => ({
  id,
  needs: ["realtime"],
  run: async (scene, signal) => {
    // All of them wait at the same time, so that three silent ones cost no more than one.
    scene.evidence.channels ??= new Map(
      channels.map(([each, pathOf]) => [
        each,
        channelVerdict(pathOf, scene, signal).catch((error: unknown) => notTried(String(error))),
      ]),
    );
    return (await scene.evidence.channels.get(id)) ?? notTried("it was not opened");
  },
}));

function weatherPath({ evidence }: Scene): string | null {
  const all = [...evidence.devices, ...evidence.controllers];
  const station = all.find(
    ({ type, code }) => type === "W001" && /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/.test(code),
  );
  return station === undefined ? null : `/ws/sensor-data/weather-station-data/${station.code}`;
}

async function channelVerdict(pathOf: PathOf, scene: Scene, stop: AbortSignal): Promise<Verdict> {
  const { push, realtime_url, timeouts } = scene.configuration.platform;
  if (!push.enabled) return notTried("platform.push.enabled is false");
  const path = pathOf(scene);
  if (path === null) return notTried("the account lists no weather station (type W001)");
  const token = push.credential === "none" ? "" : await tokenAtHand(scene);
  if (token === null || /[^!-~]/.test(token)) return notTried("there is no token at hand for it");
  const query = push.credential === "query" ? `?${push.query_name}=${encodeURIComponent(token)}` : "";
  const channel = {
    url: `${realtime_url.replace(/^http/, "ws")}${path}${query}`,
    headers: push.credential === "header" ? { authorization: `Bearer ${token}` } : undefined,
    handshakeMs: timeouts.connect,
  };
  const { clock } = scene.ports;
  const outcome = await within(clock, scene.limits.frameMs, stop, (signal) =>
    firstFrame({ ...channel, headers: channel.headers ?? {} }, signal),
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
