import { formatDuration } from "../../config/duration.js";
import { spoken } from "./clock-check.js";
import { readingsIn } from "./decoded-answer.js";
import { failed, notTried, ok, warning, type Verdict } from "./finding.js";
import { sampleControllers } from "./platform-checks.js";
import { sensorAnswer } from "./shape-checks.js";
import type { Check, Scene } from "./scene.js";
import { judgeZone, offsetText, zoneWith, type ZoneJudgement } from "./zone-judgement.js";

export const zoneCheck: Check = { id: "time_zone", needs: ["shapes.sensor-data"], run: zoneVerdict };

async function zoneVerdict(scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const { configuration, ports, platform } = scene;
  const online = sampleControllers(scene).filter((controller) => controller.online !== false);
  if (online.length === 0) return notTried("no controller is online, so no reading is fresh");
  const now = ports.clock.now() + (platform.clockSkewMs() ?? 0);
  const { time_zone: timeZone, shapes } = configuration.platform;
  const ages: number[] = [];
  let readings = 0;
  let dependsOnZone = false;
  for (const { code } of online) {
    const answer = await sensorAnswer(scene, code, signal);
    const times = (zone: string) => readingsIn(answer, shapes, zone).map((item) => item.measuredAt);
    const here = times(timeZone);
    readings += here.length;
    const known = here.filter((at) => at !== null);
    if (known.length > 0) ages.push(now - Math.max(...known));
    // Two zones on either side of the date line never agree on a time that carries none.
    if (String(times("Etc/GMT+12")) !== String(times("Etc/GMT-14"))) dependsOnZone = true;
  }
  if (readings === 0) return notTried('no reading could be read, see "shapes.sensor-data"');
  if (ages.length === 0)
    return warning(
      "readings carry no time that can be read, so all of them are published as `uncertain`",
      "say where it stands: platform.shapes.sensor-data.time",
    );
  return verdictOf(judgeZone({ ages, dependsOnZone, timeZone, now }), scene, now, dependsOnZone);
}

function verdictOf(judgement: ZoneJudgement, scene: Scene, now: number, dependsOnZone: boolean): Verdict {
  const { time_zone: timeZone } = scene.configuration.platform;
  const { type, ageMs } = judgement;
  const age = spoken(Math.round(Math.abs(ageMs) / 1000));
  switch (type) {
    case "plausible":
      return freshVerdict(scene, ageMs, dependsOnZone ? ` in ${timeZone}` : " (their times carry a zone)");
    case "shifted": {
      const { offsetMs } = judgement;
      const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
      const zone = zoneWith(offsetMs, now, [own]);
      const where = ageMs < 0 ? `${age} in the future` : `${age} old`;
      const unless = ageMs < 0 ? "" : "; unless the controllers really have measured nothing for so long";
      return failed(
        `the newest readings are ${where}, as if their times were not written in ${timeZone}`,
        `set platform.time_zone to ${zone} (or another zone that is ${offsetText(offsetMs)} now)${unless}`,
      );
    }
    case "future":
      return failed(
        `the newest readings are ${age} in the future, so all of them are \`uncertain\``,
        "no time zone explains it: the controllers' clocks are wrong; ask the platform's operator",
      );
    case "old":
      return warning(
        `the newest readings of online controllers are ${age} old, so all of them are \`stale\``,
        "no time zone explains it: look in the platform's own app whether the sensors still report",
      );
  }
}

function freshVerdict({ configuration }: Scene, ageMs: number, where: string): Verdict {
  const { stale_after: staleAfterMs } = configuration.polling;
  const age = spoken(Math.max(0, Math.round(ageMs / 1000)));
  return ageMs <= staleAfterMs
    ? ok(`the newest readings are ${age} old${where}`)
    : warning(
        `the newest readings are ${age} old, more than polling.stale_after (${formatDuration(staleAfterMs)})`,
        "if the sensors report that seldom, lengthen polling.stale_after",
      );
}
