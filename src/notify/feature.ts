import { lazy } from "../runtime/lazy.js";
import type { Feature } from "../feature/feature.js";
import { tellIn } from "../language/languages.js";
import { privateAs, privateHost } from "../runtime/redaction.js";
import { messengerAddresses, notifyDoubts, notifyErrors, notifyPrivate } from "./check.js";
import { keys } from "./section.js";

const code = lazy(() => import("./part.js"));
const requests = lazy(() => import("./requests.js"));

/** The feature `notify`: who receives alarms, and how. */
export const notify = {
  keys,
  errors: notifyErrors,
  doubts: (configuration) => notifyDoubts(configuration.notify),
  privateTexts: (configuration) => {
    const { names, urls, hosts, users } = notifyPrivate(configuration.notify);
    return [
      ...privateAs("name", names),
      ...urls.flatMap(privateHost),
      ...privateAs("host", hosts),
      ...privateAs("user", users),
    ];
  },
  hosts: (configuration) => messengerAddresses(configuration.notify),
  commands: [
    {
      name: "notify",
      description: "try how alarms reach people: one message through each way of `notify`",
      examples: ["greenhouse2mqtt notify --test", "greenhouse2mqtt notify --daily --print"],
      options: [
        ["--test", "send it; works beside a running bridge, and without one"],
        ["--daily", "send the daily message now, by the ways of `notify.daily`"],
        ["--print", "with --daily: print it and send nothing"],
      ],
      run: async (call) => (await import("./command.js")).notify(call),
    },
  ],
  load: ({ notify: { ways, language } }) =>
    Promise.all([requests(), ...(Object.keys(ways).length > 0 ? [code(), tellIn(language)] : [])]),
  make: async (core, _, now) => {
    const { notifyRunning } = await requests();
    return notifyRunning(
      async (configuration) => (await code()).tellPeople(core, configuration),
      now,
      core.log,
    );
  },
} satisfies Feature<typeof keys>;
