import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { Button } from "./inputs.js";
import { now, useAnswer } from "./live.js";
import { Icon } from "./parts.js";
import type { Trends } from "./protocol.js";
import { t, timeText } from "./words.js";

/* Loaded with the first plot. */

type Drawn = Readonly<{ sensor: string; name: string; unit: string | null }>;
type PlotProps = Drawn & Readonly<{ controller: string; onClose: () => void }>;

/** One day of one sensor. */
export function Plot({ controller, sensor, name, unit, onClose }: PlotProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const path = `api/trends/${encodeURIComponent(controller)}?sensor=${encodeURIComponent(sensor)}`;
  const trends = useAnswer<Trends>(path, 300_000).value;
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(
    () => (trends && place.current ? draw(place.current, trends, { sensor, name, unit }) : undefined),
    [trends],
  );
  const isKnown = trends?.sensors[sensor]?.some((point) => point !== null);
  return (
    <dialog ref={dialog} class="plot" aria-label={t("trend_of", { name })} onClose={onClose}>
      <div class="bar">
        <h2>{t("trend_of", { name })}</h2>
        <Button class="link" aria-label={t("close")} act={() => dialog.current?.close()}>
          <Icon name="close" />
        </Button>
      </div>
      <div ref={place} class="drawing" />
      <p class="quiet">
        {trends &&
          (isKnown ? t("trend_since", { time: timeText(trends.since, now.value) }) : t("trend_none"))}
      </p>
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
function draw(place: HTMLElement, trends: Trends, { sensor, name, unit }: Drawn): () => void {
  const { step_s: step, until, sensors } = trends;
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
