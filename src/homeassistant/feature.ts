import { tellIn } from "../language/languages.js";
import { lazy } from "../runtime/lazy.js";
import type { Feature } from "../feature/feature.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import { discoveryFilter } from "./identity.js";
import { curtainSentences, keys } from "./section.js";

const announcing = lazy(() => import("./discovery-output.js"));
const withdrawing = lazy(() => import("./withdrawals.js"));

/** The feature `homeassistant`: announcements for Home Assistant. */
export const homeassistant = {
  keys,
  sentences: curtainSentences,
  /** The topics that the bridge listens to for it. */
  listensTo: (
    { homeassistant: { enabled, status_topic: status, discovery_prefix: prefix } }: HasSection,
    isOneOfMany: boolean,
  ) => (enabled ? [status, ...(isOneOfMany ? [] : [discoveryFilter(prefix)])] : []),
  /** The topics that it leaves at the broker. */
  left: async (configuration: CoreConfiguration & HasSection) => {
    const { foundDocument } = await import("./announced.js");
    return {
      filter: discoveryFilter(configuration.homeassistant.discovery_prefix),
      isOurs: (payload: string) => foundDocument(payload, configuration.mqtt.base_topic) !== null,
    };
  },
  commands: [
    {
      name: "dashboard",
      description: "a Home Assistant dashboard for your houses, as YAML to paste",
      examples: ["greenhouse2mqtt dashboard > dashboard.yaml"],
      run: async (call) => (await import("./dashboard-command.js")).dashboard(call),
    },
  ],
  load: ({ homeassistant: { enabled } }) => (enabled ? announcing() : withdrawing()),
  make: async (core, configuration) => {
    const { enabled, language } = configuration.homeassistant;
    return enabled
      ? (await announcing()).announce(core, configuration, await tellIn(language))
      : (await withdrawing()).withdraw(core, configuration);
  },
} satisfies Feature<typeof keys> & Readonly<Record<"listensTo" | "left", unknown>>;

interface HasSection {
  readonly homeassistant: {
    readonly enabled: boolean;
    readonly status_topic: string;
    readonly discovery_prefix: string;
  };
}
