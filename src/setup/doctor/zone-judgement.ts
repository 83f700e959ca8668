import { zoneOffset } from "../../platform/zone-offset.js";

const minuteMs = 60_000;
const hourMs = 3_600_000;
/** Clocks of both sides may differ so much, and readings of the last minute may carry a rounded time. */
const slackMs = 2 * minuteMs;
/** A reading that is younger than this is one that could have been measured by now. */
const youngMs = 15 * minuteMs;

export interface ZoneFacts {
  /** Age of the newest reading of each controller, ms; negative in the future. */
  readonly ages: readonly number[];
  /** The times carry no zone, so that `platform.time_zone` decides what they mean. */
  readonly dependsOnZone: boolean;
  readonly timeZone: string;
  /** The platform's present, epoch ms. */
  readonly now: number;
}

export type ZoneJudgement =
  | { readonly type: "plausible"; readonly ageMs: number }
  /** Off by what two zones differ; `shiftMs` is to be added to the configured zone's offset. */
  | { readonly type: "shifted"; readonly ageMs: number; readonly offsetMs: number }
  | { readonly type: "future"; readonly ageMs: number }
  | { readonly type: "old"; readonly ageMs: number };

/** Judges the middle one of the newest readings, so that one controller that stands still does not decide. */
export function judgeZone({ ages, dependsOnZone, timeZone, now }: ZoneFacts): ZoneJudgement {
  const sorted = [...ages].sort((one, other) => one - other);
  const ageMs = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  if (ageMs >= -slackMs && ageMs < hourMs - slackMs) return { type: "plausible", ageMs };
  const offsetMs = dependsOnZone ? likelyOffset(ageMs, zoneOffset(timeZone)(now), now) : null;
  if (offsetMs !== null) return { type: "shifted", ageMs, offsetMs };
  return { type: ageMs < 0 ? "future" : "old", ageMs };
}

/** The offset with which the age would be a few minutes: whole hours, else a half or a quarter that some place really has. */
function likelyOffset(ageMs: number, configuredMs: number, now: number): number | null {
  for (const stepMs of [hourMs, hourMs / 2, hourMs / 4]) {
    const shiftMs = Math.floor((ageMs + slackMs) / stepMs) * stepMs;
    const offsetMs = configuredMs - shiftMs;
    const isZone =
      offsetMs % hourMs === 0
        ? offsetMs >= -12 * hourMs && offsetMs <= 14 * hourMs
        : isSomewhere(offsetMs, now);
    if (shiftMs !== 0 && isZone && ageMs - shiftMs < youngMs) return offsetMs;
  }
  return null;
}

const isSomewhere = (offsetMs: number, now: number): boolean =>
  Intl.supportedValuesOf("timeZone").some((zone) => zoneOffset(zone)(now) === offsetMs);

/** A zone with this offset now: one of the preferred, else any place, else a fixed offset. */
export function zoneWith(offsetMs: number, now: number, preferred: readonly string[]): string {
  const fits = (zone: string) => zoneOffset(zone)(now) === offsetMs;
  const found =
    [...preferred, "Asia/Shanghai", "UTC"].find(fits) ?? Intl.supportedValuesOf("timeZone").find(fits);
  if (found !== undefined) return found;
  const hours = Math.round(offsetMs / hourMs);
  return hours === 0 ? "UTC" : `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`;
}

/** `UTC+8`, `UTC-3:30`. */
export function offsetText(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / minuteMs);
  const rest = minutes % 60 === 0 ? "" : `:${String(minutes % 60).padStart(2, "0")}`;
  return `UTC${offsetMs < 0 ? "-" : "+"}${Math.floor(minutes / 60)}${rest}`;
}
