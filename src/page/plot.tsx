import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { get, now } from "./live.js";
import { Icon } from "./parts.js";
import type { Trends } from "./protocol.js";
import { t, timeText } from "./words.js";

/* Loaded with the first plot that somebody asks for. */

interface PlotProps {
  readonly controller: string;
  readonly sensor: string;
  readonly name: string;
  readonly unit: string | null;
  readonly onClose: () => void;
}

/** One day of one sensor. */
export function Plot({ controller, sensor, name, unit, onClose }: PlotProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const trends = useSignal<Trends | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
    const path = `api/trends/${encodeURIComponent(controller)}?sensor=${encodeURIComponent(sensor)}`;
    let end = (): void => undefined;
    const load = async () => {
      const { body } = await get<Trends>(path);
      trends.value = body;
      if (body && place.current) end = draw(place.current, body, sensor, { name, unit });
    };
    void load();
    return () => end();
  }, [controller, sensor]);
  const points = trends.value?.sensors[sensor] ?? [];
  return (
    <dialog ref={dialog} class="plot" aria-label={t("trend_of", { name })} onClose={onClose}>
      <div class="bar">
        <h2>{t("trend_of", { name })}</h2>
        <button type="button" class="link" aria-label={t("close")} onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </div>
      <div ref={place} class="drawing" />
      {trends.value === null ? null : points.some((point) => point !== null) ? (
        <p class="quiet">{t("trend_since", { time: timeText(trends.value.since, now.value) })}</p>
      ) : (
        <p class="quiet">{t("trend_none")}</p>
      )}
    </dialog>
  );
}

const hours = (at: number) => new Date(at * 1000).toTimeString().slice(0, 5);

/** As it is in the light or dark that is shown; a canvas does not know variables. */
function colour(place: HTMLElement, name: string): string {
  place.style.color = `var(${name})`;
  const { color } = getComputedStyle(place);
  place.style.color = "";
  return color;
}

/** Draws a day; the answer takes it away again. */
function draw(
  place: HTMLElement,
  { step_s: step, until, sensors }: Trends,
  sensor: string,
  { name, unit }: { readonly name: string; readonly unit: string | null },
): () => void {
  const points = sensors[sensor] ?? [];
  const last = Date.parse(until) / 1000;
  const times = points.map((_, at) => last - (points.length - 1 - at) * step);
  const label = unit === null ? name : `${name} (${unit})`;
  const axis = {
    stroke: colour(place, "--quiet"),
    grid: { stroke: colour(place, "--line"), width: 1 },
    ticks: { show: false },
  };
  const size = () => ({ width: Math.max(240, place.clientWidth), height: Math.min(320, innerHeight * 0.5) });
  const plot = new uPlot(
    {
      ...size(),
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(hours) },
        { ...axis, size: 56 },
      ],
      series: [{ value: "{HH}:{mm}" }, { label, stroke: colour(place, "--accent"), width: 2 }],
      scales: { x: { time: true, range: [last - 86_400, last] } },
    },
    [times, [...points]],
    place,
  );
  const resize = () => plot.setSize(size());
  addEventListener("resize", resize);
  return () => {
    removeEventListener("resize", resize);
    plot.destroy();
  };
}
