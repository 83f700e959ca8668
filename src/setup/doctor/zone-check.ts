import { msg, row } from "../../language/text.js";
import { formatDuration } from "../../runtime/duration.js";
import { zoneOffset } from "../../runtime/zone.js";
import { failed, notTried, ok, type Verdict, warning } from "./finding.js";
import { durationText } from "./network-checks.js";
import { sampleControllers } from "./platform-checks.js";
import { ask, type Check, type DoctorContext } from "./context.js";
import { readingsIn } from "./shape-suggestion.js";

const minuteMs = 60_000;
const hourMs = 3_600_000;
/** The two clocks may differ by this much, and readings of the last minute may carry a rounded time. */
const slackMs = 2 * minuteMs;
/** A reading younger than this may be a present one. */
const youngMs = 15 * minuteMs;

interface ZoneFacts {
  /** Age of the newest reading of each controller, ms; negative in the future. */
  readonly ages: readonly number[];
  /** The times carry no zone, so `platform.time_zone` decides what they mean. */
  readonly dependsOnZone: boolean;
  readonly timeZone: string;
  /** The platform's present time, epoch ms. */
  readonly now: number;
  readonly staleAfterMs: number;
}

const middleOf = (ages: readonly number[]): number =>
  [...ages].sort((one, other) => one - other)[Math.floor((ages.length - 1) / 2)] ?? 0;

/** Judges the median of the newest readings, so that one stuck controller does not decide. */
export function zoneVerdict({ ages, dependsOnZone, timeZone, now, staleAfterMs }: ZoneFacts): Verdict {
  const ageMs = middleOf(ages);
  const age = durationText(Math.round(Math.abs(ageMs) / 1000));
  if (ageMs >= -slackMs && ageMs < hourMs - slackMs) {
    const where = dependsOnZone ? msg` in ${timeZone}` : msg` (their times carry a zone)`;
    const fresh = msg`the newest readings are ${ageMs < 0 ? durationText(0) : age} old`;
    return ageMs <= staleAfterMs
      ? ok(row`${fresh}${where}`)
      : warning(
          msg`${fresh}, more than polling.stale_after (${formatDuration(staleAfterMs)})`,
          msg`look in the platform's own app whether the sensors still report; only where they report that seldom, lengthen polling.stale_after`,
        );
  }
  const zone = dependsOnZone ? likelyZone(ageMs, timeZone, now) : undefined;
  if (zone !== undefined) {
    const [where, unless] =
      ageMs < 0
        ? [
            msg`${age} in the future`,
            msg`; unless the platform's own app shows such times too: then the controllers' clocks are wrong`,
          ]
        : [
            msg`${age} old`,
            msg`; unless the platform's own app shows such times too: then the controllers have measured nothing for so long`,
          ];
    return failed(
      msg`the newest readings are ${where}, as if their times were not written in ${timeZone}`,
      msg`set platform.time_zone to ${zone} (or another zone that is ${offsetText(zone, now)} now)${unless}`,
    );
  }
  return ageMs < 0
    ? failed(
        msg`the newest readings are ${age} in the future, so all of them are \`uncertain\``,
        msg`no time zone explains it: the controllers' clocks are wrong; ask the platform's operator`,
      )
    : warning(
        msg`the newest readings of online controllers are ${age} old, so all of them are \`stale\``,
        msg`no time zone explains it: look in the platform's own app whether the sensors still report`,
      );
}

/**
 * A zone in which the age would be a few minutes: a whole number of hours away, else half or quarter hours; usual zones
 * first.
 */
function likelyZone(ageMs: number, timeZone: string, now: number): string | undefined {
  const configuredMs = zoneOffset(timeZone)(now);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fitting = [own, "Asia/Shanghai", "UTC", ...Intl.supportedValuesOf("timeZone")].flatMap((zone) => {
    const shiftMs = configuredMs - zoneOffset(zone)(now);
    const isLikely = shiftMs !== 0 && ageMs - shiftMs >= -slackMs && ageMs - shiftMs < youngMs;
    return isLikely ? [{ zone, shiftMs }] : [];
  });
  const steps = [hourMs, hourMs / 2, hourMs / 4];
  return steps.flatMap((stepMs) => fitting.filter(({ shiftMs }) => shiftMs % stepMs === 0))[0]?.zone;
}

/** `UTC+8`, `UTC-3:30`. */
const offsetText = (timeZone: string, now: number): string =>
  new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" })
    .formatToParts(now)
    .flatMap(({ type, value }) => (type === "timeZoneName" ? [value.replace("GMT", "UTC")] : []))
    .join("");

export const zoneCheck: Check = { id: "time_zone", needs: ["shapes.sensor-data"], run: checkedZone };

async function checkedZone(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const { configuration, ports, platform } = context;
  const online = sampleControllers(context).filter((controller) => controller.online !== false);
  if (online.length === 0) return notTried(msg`no controller is online, so no reading is fresh`);
  const now = ports.clock.now() + (platform.clockSkewMs() ?? 0);
  const { time_zone: timeZone, shapes } = configuration.platform;
  const ages: number[] = [];
  let readings = 0;
  let dependsOnZone = false;
  for (const { code } of online) {
    const answer = await ask(context, "sensor-data", { deviceCode: code }, signal);
    const times = (zone: string) => readingsIn(answer, shapes, zone).map((item) => item.measuredAt);
    const here = times(timeZone);
    readings += here.length;
    const known = here.filter((at) => at !== null);
    if (known.length > 0) ages.push(now - Math.max(...known));
    // These zones are so far apart that they never agree on a time without a zone.
    if (String(times("Etc/GMT+12")) !== String(times("Etc/GMT-14"))) dependsOnZone = true;
  }
  if (readings === 0) return notTried(msg`no reading could be read, see "shapes.sensor-data"`);
  if (ages.length === 0)
    return warning(
      msg`readings carry no time that can be read, so all of them are published as \`uncertain\``,
      msg`say where it stands: platform.shapes.sensor-data.time`,
    );
  return zoneVerdict({ ages, dependsOnZone, timeZone, now, staleAfterMs: configuration.polling.stale_after });
}
