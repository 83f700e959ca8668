import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { labelOf } from "./actuator-summary.js";
import { Button, Choice } from "./inputs.js";
import { address, get, now } from "./live.js";
import { Icon, Loading, save } from "./parts.js";
import type { ControllerView, JournalPage, Trends } from "./protocol.js";
import { dayBefore, type DrawnLimit, drawnSpan, limitsOf } from "./span.js";
import { entryText, type TimelineEntry } from "./timeline.js";
import { durationText, t, timeText } from "./words.js";

/* Loaded with the first plot. */

type PlotProps = Readonly<{ controller: ControllerView; sensor: string; onClose: () => void }>;

const ranges = ["24h", "7d", "30d"] as const;
type Range = (typeof ranges)[number];

/** One drawn sensor. */
interface Series {
  readonly label: string;
  readonly points: readonly (number | null)[];
  /** The least range that it is drawn over. */
  readonly least: number;
  /** Series with the same scale share an axis. */
  readonly scale: string;
}

/** An action or event, in seconds since 1970. */
interface Mark {
  readonly at: number;
  readonly text: string;
  readonly kind: string;
}

interface Drawing {
  readonly trends: Trends;
  /** Limits of the first sensor. */
  readonly limits: readonly DrawnLimit[];
  readonly series: readonly Series[];
  readonly marks: readonly Mark[];
}

/** Stands for the same sensor a day before, in place of a second one. No id begins with a blank. */
const yesterday = " yesterday";

const pathOf = (controller: string, sensor: string, range: string) =>
  `api/trends/${encodeURIComponent(controller)}/${encodeURIComponent(sensor)}?since=${range}`;

const markedKinds = "command,rule,lock,guard,alarm,change";

/** A time of the trends in the plot, in seconds: in the demo by the simulated greenhouse's clock. */
function drawnAt(atMs: number, { demo }: Trends): number {
  return (demo ? uPlot.tzDate(new Date(atMs), demo.time_zone).getTime() : atMs) / 1000;
}

/** The time of an event in the plot; in the demo the simulated time. */
function shownAt(at: string, trends: Trends): number {
  const { demo } = trends;
  const real = Date.parse(at);
  const simulated = demo && Date.parse(demo.simulated) - (Date.parse(demo.real) - real) * demo.speed;
  return drawnAt(simulated ?? real, trends);
}

/** Loads one or two sensors, the events meanwhile, and the nights. */
async function load(
  controller: ControllerView,
  sensors: readonly string[],
  range: Range,
): Promise<Drawing | null> {
  const [first = ""] = sensors;
  const answers = await Promise.all(
    sensors.map((sensor) =>
      get<Trends>(
        sensor === yesterday
          ? pathOf(controller.id, first, "48h&until=24h")
          : pathOf(controller.id, sensor, range),
      ),
    ),
  );
  const [trends] = answers.map(({ status, body }) => (status === 200 ? body : null));
  if (!trends) return null;
  const query = new URLSearchParams({
    controller: controller.id,
    since: range,
    limit: "500",
    kind: markedKinds,
  });
  const journal = await get<JournalPage<TimelineEntry>>(`api/journal?${query.toString()}`);
  const marks = (journal.body?.records ?? []).map((entry) => ({
    at: shownAt(entry.at, trends),
    text: `${timeText(shownAt(entry.at, trends) * 1000, now.peek())} ${entryText(entry, controller)}`,
    kind: entry.kind,
  }));
  const series = sensors.map((sensor, at) => {
    const body = answers[at]?.body ?? null;
    const { unit = null, least_span: least = 0 } = controller.sensors[sensor] ?? {};
    if (sensor === yesterday)
      return {
        label: t("yesterday"),
        points: body ? dayBefore(first, trends, body) : [],
        least,
        scale: "y0",
      };
    const name = controller.sensors[sensor] ? labelOf(controller.sensors[sensor]) : sensor;
    return {
      label: unit === null ? name : `${name} (${unit})`,
      points: body?.sensors[sensor] ?? [],
      least,
      scale: `y${at}`,
    };
  });
  const limits = limitsOf(controller.sensors[first]?.limits ?? null);
  return {
    trends,
    limits,
    series,
    marks: marks.filter(({ at }) => at >= drawnAt(Date.parse(trends.since), trends)),
  };
}

export function Plot({ controller, sensor, onClose }: PlotProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const range = useSignal<Range>("24h");
  const other = useSignal("");
  const drawing = useSignal<Drawing | null>(null);
  const near = useSignal<readonly Mark[]>([]);
  const isAlone = other.value === "" || (other.value === yesterday && range.value !== "24h");
  const sensors = [sensor, ...(isAlone ? [] : [other.value])];
  const name = controller.sensors[sensor] ? labelOf(controller.sensors[sensor]) : sensor;
  const title = t("trend_of", { name });
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const ask = async () => (drawing.value = await load(controller, sensors, range.value));
    void ask();
    const timer = setInterval(() => void ask(), 60_000);
    return () => clearInterval(timer);
  }, [sensors.join(), range.value]);
  const shown = drawing.value;
  useEffect(() => (shown && place.current ? draw(place.current, shown, near) : undefined), [shown]);
  const isKnown = shown?.series.some(({ points }) => points.some((point) => point !== null));
  return (
    <dialog ref={dialog} class="plot" aria-label={title} onClose={onClose}>
      <div class="bar">
        <h2>{title}</h2>
        <Button class="link" aria-label={t("close")} act={() => dialog.current?.close()}>
          <Icon name="close" />
        </Button>
      </div>
      <Choices controller={controller} sensor={sensor} other={other} range={range} />
      {shown === null ? <Loading /> : null}
      <div ref={place} class="drawing" />
      {shown && !isKnown ? <p class="quiet">{t("trend_none")}</p> : null}
      <ul class="near" aria-live="polite">
        {near.value.map(({ at, text, kind }) => (
          <li key={`${at} ${text}`} class={kind}>
            {text}
          </li>
        ))}
      </ul>
      <p class="quiet">{t(shown?.trends.demo ? "trend_legend_demo" : "trend_legend")}</p>
    </dialog>
  );
}

type ChoicesProps = Pick<PlotProps, "controller" | "sensor"> &
  Readonly<{ other: Signal<string>; range: Signal<Range> }>;

function Choices({ controller, sensor, other, range }: ChoicesProps) {
  const numeric = Object.entries(controller.sensors).filter(
    ([id, { value }]) => id !== sensor && typeof value === "number",
  );
  const exportReadings = async () => {
    const headers = { accept: "text/csv" };
    const answer = await fetch(address(pathOf(controller.id, sensor, range.value)), { headers });
    if (answer.ok) save(`${controller.id}-${sensor}.csv`, "text/csv", await answer.text());
  };
  return (
    <div class="bar choices">
      <Choice
        label={t("range")}
        bound={range}
        options={ranges.map((one) => [one, durationText(one)] as const)}
      />
      <Choice
        label={t("second_sensor")}
        bound={other}
        options={[
          ["", "–"],
          ...(range.value === "24h" ? ([[yesterday, t("yesterday")]] as const) : []),
          ...numeric.map(([id, one]) => [id, labelOf(one)] as const),
        ]}
      />
      <Button act={exportReadings}>{t("export", { kind: "CSV" })}</Button>
    </div>
  );
}

/** The value of a colour variable in the present theme, as a canvas does not know variables. */
function colour(place: HTMLElement, name: string): string {
  place.style.color = `var(${name})`;
  const { color } = getComputedStyle(place);
  place.style.color = "";
  return color;
}

const two = (value: number) => String(value).padStart(2, "0");

/** Hours for a day, days for a longer time. */
function tickText(at: number, isLong: boolean): string {
  const date = new Date(at * 1000);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return isLong ? `${date.getDate()}.${date.getMonth() + 1}.` : time;
}

/** From the first point, but at least an hour, so that a young bridge shows no stroke at the edge. */
function shownRange(times: readonly number[], series: readonly Series[]): [number, number] {
  const last = times.at(-1) ?? 0;
  const first = times.find((_, at) => series.some(({ points }) => points[at] !== null)) ?? last;
  return [Math.max(times[0] ?? 0, Math.min(first, last - 3_600)), last];
}

/** Draws the nights behind the lines, and the events over them. */
function decorate(
  plot: uPlot,
  { trends, limits, marks }: Drawing,
  colours: Readonly<Record<string, string>>,
): void {
  const { ctx, bbox } = plot;
  const x = (at: number) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(at, "x", true)));
  ctx.save();
  ctx.fillStyle = colours["night"] ?? "";
  ctx.globalAlpha = 0.5;
  for (const [from, until] of trends.nights) {
    const left = x(drawnAt(Date.parse(from), trends));
    const right = x(drawnAt(Date.parse(until), trends));
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.globalAlpha = 1;
  ctx.lineWidth = devicePixelRatio;
  for (const { value, isOuter } of limits) {
    const top = plot.valToPos(value, "y0", true);
    if (top < bbox.top || top > bbox.top + bbox.height) continue;
    ctx.strokeStyle = colours[isOuter ? "alarm" : "guard"] ?? "";
    ctx.beginPath();
    ctx.setLineDash([8 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.moveTo(bbox.left, top);
    ctx.lineTo(bbox.left + bbox.width, top);
    ctx.stroke();
  }
  for (const { at, kind } of marks) {
    const left = plot.valToPos(at, "x", true);
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = colours[kind] ?? colours["command"] ?? "";
    ctx.beginPath();
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.moveTo(left, bbox.top + 6 * devicePixelRatio);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(left, bbox.top + 5 * devicePixelRatio, 4 * devicePixelRatio, 0, 7);
    ctx.fill();
  }
  ctx.restore();
}

/** Keeps curves and limits at the edge from being cut in half. */
const edge = 0.04;

const scalesOf = (series: readonly Series[]) => [...new Set(series.map(({ scale }) => scale))];

/** Ranges by the name of each scale; the limits belong to the first. */
const heightsOf = (series: readonly Series[], limits: readonly DrawnLimit[]): uPlot.Scales =>
  Object.fromEntries(
    scalesOf(series).map((scale, at) => {
      const own = series.filter((one) => one.scale === scale);
      const points = own.flatMap((one) => one.points);
      const [from, to] = drawnSpan(points, own[0]?.least ?? 0, at === 0 ? limits : []) ?? [0, 1];
      const room = (to - from) * edge;
      return [scale, { range: [from - room, to + room] }];
    }),
  );

/** The greatest distance of the pointer from a mark, in pixels. */
const reach = 12;

/** Draws the plot; the returned function removes it. */
function draw(place: HTMLElement, drawing: Drawing, near: Signal<readonly Mark[]>): () => void {
  const { trends, series, marks, limits } = drawing;
  const { step_s: step, since } = trends;
  const count = Math.max(...series.map(({ points }) => points.length));
  const begin = drawnAt(Date.parse(since), trends);
  const times = Array.from({ length: count }, (_, at) => begin + at * step);
  const [first, last] = shownRange(times, series);
  const isLong = last - first > 2 * 86_400;
  const colours = Object.fromEntries(
    [
      ["night", "--line"],
      ["command", "--accent"],
      ["rule", "--busy"],
      ["guard", "--warn"],
      ["lock", "--warn"],
      ["alarm", "--bad"],
      ["change", "--quiet"],
    ].map(([kind = "", name = ""]) => [kind, colour(place, name)]),
  );
  const axis = {
    stroke: colour(place, "--quiet"),
    grid: { stroke: colour(place, "--line"), width: 1 },
    ticks: { show: false },
  };
  const size = () => ({ width: Math.max(240, place.clientWidth), height: Math.min(320, innerHeight * 0.45) });
  const lines = [colour(place, "--accent"), colour(place, "--busy")];
  const onCursor = (plot: uPlot) => {
    const { left = -1 } = plot.cursor;
    const found = left < 0 ? [] : marks.filter(({ at }) => Math.abs(plot.valToPos(at, "x") - left) < reach);
    if (found.length > 0 || near.peek().length > 0) near.value = found.slice(0, 5);
  };
  const plot = new uPlot(
    {
      ...size(),
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((at) => tickText(at, isLong)) },
        ...scalesOf(series).map((scale, at) => ({ ...axis, scale, size: 52, grid: at > 0 ? {} : axis.grid })),
      ],
      series: [
        { label: t("time"), value: (_, at) => (Number.isFinite(at) ? timeText(at * 1000, now.peek()) : "–") },
        ...series.map(({ label, scale }, at) => ({
          ...{ label, scale, stroke: lines[at] ?? "", width: 2 },
          // The second line differs by more than its colour.
          ...(at > 0 && scale === "y0" && { dash: [6, 4] }),
        })),
      ],
      scales: { x: { time: true, range: [first, last] }, ...heightsOf(series, limits) },
      hooks: { drawClear: [(drawn) => decorate(drawn, drawing, colours)], setCursor: [onCursor] },
    },
    [times, ...series.map(({ points }) => [...points])],
    place,
  );
  const resize = () => plot.setSize(size());
  addEventListener("resize", resize);
  return () => {
    removeEventListener("resize", resize);
    plot.destroy();
  };
}
