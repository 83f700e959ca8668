import { createPlatform } from "../../platform/client.js";
import { platformSettings } from "../../compose/platform-settings.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import { isDeviceCode } from "../../platform/request-path.js";
import { silentLog } from "./silent-log.js";
import { devicesIn } from "./decoded-answer.js";
import { failed, ok, warning, type Verdict } from "./finding.js";
import { platformVerdict } from "./platform-verdict.js";
import type { Check, Scene } from "./scene.js";

/** A code no device has; asking for it gives the answer of a device that is offline. */
const nobody = "doctor";

export const platformChecks: readonly Check[] = [
  { id: "token", needs: ["business.tls"], run: tokenVerdict },
  { id: "realtime", needs: ["realtime.tls"], run: realtimeVerdict },
];

async function tokenVerdict(scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const { answers, configuration, evidence } = scene;
  try {
    const answer = await answers.ask("control/mqtt", {}, signal);
    evidence.controllers = devicesIn(answer, configuration.platform.shapes);
  } catch (error) {
    return await wrongHostVerdict(error, scene, signal);
  }
  const { length } = evidence.controllers;
  if (length === 0)
    return warning(
      "the business host accepts the token, but lists no controllers",
      'check that this account owns controllers; if it does, see "shapes.control/mqtt" below',
    );
  const online = evidence.controllers.filter((controller) => controller.online === true).length;
  return ok(
    `the business host accepts the token and lists ${length} ${length === 1 ? "controller" : "controllers"}, ${online} online`,
  );
}

async function realtimeVerdict(scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const deviceCode = sampleControllers(scene)[0]?.code ?? nobody;
  try {
    await scene.answers.ask("mqtt-client-status", { deviceCode }, signal);
  } catch (error) {
    return await wrongHostVerdict(error, scene, signal);
  }
  return ok("the realtime host answers");
}

/** Controllers worth reading: online ones first, each type once before a second of it. */
export function sampleControllers({ evidence }: Scene, most = 3) {
  const usable = evidence.controllers.filter(({ code }) => isDeviceCode(code));
  const ordered = [...usable].sort(
    (one, other) => Number(other.online === true) - Number(one.online === true),
  );
  const types = new Set<string>();
  const firsts = ordered.filter(({ type }) => {
    const isNew = !types.has(type ?? "");
    types.add(type ?? "");
    return isNew;
  });
  return [...new Set([...firsts, ...ordered])].slice(0, most);
}

/** Errors that the other host's question may explain. */
const answered: ReadonlySet<string> = new Set(["server", "protocol", "rejected", "unauthorized"]);

/** A refusal that another host's path would also give is looked at the other way round. */
async function wrongHostVerdict(error: unknown, scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const verdict = platformVerdict(error);
  if (verdict === null || !(error instanceof PlatformError)) throw error;
  const { business_url, realtime_url } = scene.configuration.platform;
  const isSuspect = business_url !== realtime_url && answered.has(error.facts.kind);
  if (!isSuspect || !(await areSwapped(scene, signal))) return verdict;
  return failed(
    "the two hosts are swapped: each answers what the other one is asked for",
    "exchange platform.business_url and platform.realtime_url",
  );
}

/** Both hosts get the same credential anyway, so asking each the other's question gives nothing away. */
function areSwapped(scene: Scene, signal: AbortSignal): Promise<boolean> {
  scene.evidence.swapped ??= triedSwapped(scene, signal);
  return scene.evidence.swapped;
}

/** Neither host knows less of what the other is asked for, and one knows more. */
async function triedSwapped(scene: Scene, signal: AbortSignal): Promise<boolean> {
  const { businessUrl, realtimeUrl } = platformSettings(scene.configuration);
  const [own, other] = [
    await knowledgeOf(scene, { businessUrl, realtimeUrl }, signal),
    await knowledgeOf(scene, { businessUrl: realtimeUrl, realtimeUrl: businessUrl }, signal),
  ];
  const gains = other.map((knows, at) => knows - (own[at] ?? 0));
  return Math.min(...gains) >= 0 && Math.max(...gains) > 0;
}

type Hosts = Pick<ReturnType<typeof platformSettings>, "businessUrl" | "realtimeUrl">;

/** How well each host knows one question of its own. */
async function knowledgeOf(
  { configuration, ports }: Scene,
  hosts: Hosts,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const settings = platformSettings(configuration);
  // Signing in has its own pace and its own saved token for each business host; what is swapped is seen without it.
  const credential = settings.credential.type === "sign_in" ? noCredential : settings.credential;
  const platform = createPlatform(
    { ...settings, credential, ...hosts },
    {
      clock: ports.clock,
      random: ports.random,
      log: silentLog,
      dataDir: configuration.data_dir,
      onLink: () => undefined,
    },
  );
  try {
    return await Promise.all([
      knowledge(platform.controllers(signal)),
      knowledge(platform.connection(nobody, signal)),
    ]);
  } finally {
    await platform.close();
  }
}

const noCredential = { type: "token", token: "none" } as const;

/** 2 for an answer, 1 for a refused token, which may be all that a host says to a question it does not know; else 0. */
const knowledge = (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 2,
    (error: unknown) => (error instanceof PlatformError && error.facts.kind === "unauthorized" ? 1 : 0),
  );
