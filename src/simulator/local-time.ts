/** The zone of every time the simulated platform writes: Asia/Shanghai, which has no summer time. */
export const platformZoneOffsetMs = 8 * 3_600_000;

export type TimeForm = "local" | "local_slashes" | "iso_utc" | "iso_offset" | "epoch_s" | "epoch_ms";

/** An instant (epoch ms) as a dialect writes it. */
export function writeTime(at: number, form: TimeForm): string | number {
  switch (form) {
    case "local":
      return localText(at);
    case "local_slashes":
      return localText(at).replaceAll("-", "/");
    case "iso_utc":
      return new Date(at).toISOString();
    case "iso_offset":
      return `${localText(at).replace(" ", "T")}+08:00`;
    case "epoch_s":
      return Math.floor(at / 1000);
    case "epoch_ms":
      return Math.floor(at);
  }
}

/** `YYYY-MM-DD HH:mm:ss` in Asia/Shanghai. */
export function localText(at: number): string {
  const iso = new Date(at + platformZoneOffsetMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** Hours since local midnight, with fraction. */
export const localHour = (at: number): number => ((((at + platformZoneOffsetMs) / 3_600_000) % 24) + 24) % 24;

/** Whole local days since 1970. */
export const localDay = (at: number): number => Math.floor((at + platformZoneOffsetMs) / 86_400_000);
