import { tellIn } from "../language/languages.js";
import type { Tell } from "../language/words.js";
import { nameOf } from "../greenhouse/documents.js";
import type { Core } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import { DailyReport } from "./daily.js";
import type { Message, Wording } from "./message.js";
import { Notifier } from "./notify.js";
import type { keys } from "./section.js";
import { HappeningsWatch } from "./happenings-watch.js";

type Settings = Configured<typeof keys>;

/** Makes the part that sends alarms, happenings and daily messages, by the settings in force. */
export async function tellPeople(core: Core, configuration: Settings) {
  const { commands, mirror, listenToEvents } = core;
  let { notify } = configuration;
  const said = saidOf(core, notify, await tellIn(notify.language));
  const notifier = new Notifier(settingsOf(core, configuration), core, commands.limits.alarms, said);
  const say = (message: Message, day: string) => notifier.sayOnce(message, notify.daily?.ways, day);
  const daily = new DailyReport(core, notify.daily?.at ?? null, notifier.wording, say);
  const watch = new HappeningsWatch(core, (one) => notifier.happened(one));
  mirror.store.onChange((before, after) => watch.onChange(before, after), ["actuators"]);
  commands.listen({
    phase: () => undefined,
    result: (result) => {
      daily.onResult(result);
      watch.onResult(result);
    },
  });
  listenToEvents((event) => watch.onEvent(event));
  return {
    run: async (signal: AbortSignal) => {
      await Promise.all([notifier, daily, watch].map((one) => one.run(signal)));
    },
    reload: async (next: Settings) => {
      const now = saidOf(core, next.notify, await tellIn(next.notify.language));
      ({ notify } = next);
      notifier.reload(settingsOf(core, next), now);
      daily.reload(notify.daily?.at ?? null, notifier.wording);
    },
    test: (signal: AbortSignal) => notifier.test(signal),
    daily: (isSent: boolean) => {
      const message = daily.message();
      if (isSent) notifier.say(message, notify.daily?.ways);
      return { title: message.title, text: message.text, sent: isSent };
    },
  };
}

const settingsOf = ({ secrets }: Core, { notify, platform }: Settings) => ({
  notify,
  timeZone: platform.time_zone,
  secrets: secrets(),
});

const saidOf = (
  { mirror }: Core,
  { language }: Settings["notify"],
  tell: Tell,
): Pick<Wording, "tell" | "nameOf"> => ({
  tell,
  nameOf: (id, actuator, sensor) => {
    const controller = mirror.store.byId(id);
    return controller
      ? tell(nameOf(controller, actuator, { id: sensor, language }))
      : [id, actuator, sensor].filter(Boolean).join(" / ");
  },
});
