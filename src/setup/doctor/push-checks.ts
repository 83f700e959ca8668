import { readFile } from "node:fs/promises";
import { WebSocket } from "ws";
import { platformSettings } from "../../platform/settings.js";
import type { PushChannel } from "../../greenhouse/ports.js";
import { nodeFiles } from "../../platform/files.js";
import { isPlainCode } from "../../platform/operations.js";
import { handshakeOf, socketOptions } from "../../platform/push/connection.js";
import { channelOperation } from "../../platform/push/platform-push.js";
import { SessionStore } from "../../platform/session/session-store.js";
import { notTried, ok, type Verdict, warning, within } from "./finding.js";
import { spoken } from "./network-checks.js";
import { silentLog } from "../../runtime/log.js";
import type { Check, Scene } from "./scene.js";

/**
 * The token that the platform client has just been let in with; null when it cannot be had without asking the platform. The
 * client shows its token to nobody, so one that was got by signing in is read where the client saved it.
 */
async function tokenAtHand({ configuration }: Scene): Promise<string | null> {
  const { credential, businessUrl } = platformSettings(configuration.platform);
  switch (credential.type) {
    case "token":
      return credential.token;
    case "token_file":
      return readFile(credential.path, "utf8").then(
        (text) => text.trim(),
        () => null,
      );
    case "sign_in": {
      const account = JSON.stringify([businessUrl, credential.body]);
      const saved = await new SessionStore(configuration.data_dir, account, nodeFiles, silentLog).load();
      return saved.token?.token ?? null;
    }
  }
}

const off = "or set platform.push.enabled to false: polling does the same, only later";

const broken = (why: string): Verdict =>
  warning(`it does not open: ${why}`, `check proxies and firewalls on the way, ${off}`);

const refused = (status: number): Verdict =>
  status === 401 || status === 403
    ? warning(
        `the realtime host refuses the token there (HTTP ${status})`,
        `try another platform.push.credential (header, query, none), ${off}`,
      )
    : warning(`the realtime host does not open it (HTTP ${status})`, `check platform.realtime_url, ${off}`);

/** Opens a push channel and waits for one frame, until `signal` aborts; `silent` is the verdict on one that opened. */
function firstFrame(socket: WebSocket, silent: Verdict, signal: AbortSignal): Promise<Verdict> {
  return new Promise((resolve) => {
    const end = (verdict: Verdict) => {
      signal.removeEventListener("abort", stop);
      resolve(verdict);
      socket.terminate();
    };
    const stop = () =>
      end(socket.readyState === WebSocket.OPEN ? silent : broken("no answer to the upgrade"));
    signal.addEventListener("abort", stop, { once: true });
    socket.on("unexpected-response", (request, response) => {
      end(refused(response.statusCode ?? 0));
      request.destroy();
    });
    socket.on("error", ({ message }) => end(broken(message)));
    socket.on("close", (code) => end(broken(`the host closed the channel with code ${code}`)));
    socket.on("message", (data, isBinary) =>
      end(
        isBinary
          ? warning("opened; the first frame is binary, which is not understood", off.slice(3))
          : ok(`opened; first frame: ${shapeOf(textOf(data))}`),
      ),
    );
    if (signal.aborted) stop();
  });
}

const textOf = (data: Buffer | ArrayBuffer | Buffer[]): string =>
  Array.isArray(data) ? Buffer.concat(data).toString("utf8") : Buffer.from(data as Buffer).toString("utf8");

/** `{deviceCode, data: {address, value}}`: names and no values. */
export function shapeOf(text: string): string {
  try {
    return described(JSON.parse(text), 0);
  } catch {
    return `text that is no JSON (${text.length} characters)`;
  }
}

const mostNames = 12;

function described(value: unknown, depth: number): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : `[${described(value[0], depth)}, …]`;
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  if (depth > 2) return "{…}";
  const entries = Object.entries(value);
  const shown = entries.slice(0, mostNames).map(([name, inner]: [string, unknown]) => {
    const isContainer = typeof inner === "object" && inner !== null;
    return isContainer ? `${name.slice(0, 40)}: ${described(inner, depth + 1)}` : name.slice(0, 40);
  });
  return `{${shown.join(", ")}${entries.length > mostNames ? ", …" : ""}}`;
}

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
  const { url, headers } = handshakeOf(realtime_url, path, { token }, settings);
  const { ports, limits } = scene;
  const silent = warning(
    `opened, but no frame came within ${spoken(Math.round(limits.frameMs / 1000))}`,
    "nothing to do if nothing changed meanwhile; polling goes on beside it",
  );
  return within(ports.clock, limits.frameMs, stop, (signal) => {
    const socket = new WebSocket(url, { ...socketOptions, headers, handshakeTimeout: timeouts.connect });
    return firstFrame(socket, silent, signal);
  });
}
