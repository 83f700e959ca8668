import { signal, type Signal } from "@preact/signals";
import { type Ref } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get } from "./live.js";
import type { Sparkline, Sparklines } from "./protocol.js";
import { drawnSpan } from "./span.js";

/* A day's curve in the size of a word. It is loaded after the view beside it, so that no first view waits for it. */

/** With fewer points no line is drawn. */
const leastPoints = 4;

/** Lines between neighbours, with gaps where no good value was known. */
function pathOf({ points: all, least_span: least }: Sparkline): string {
  // Begins with the first known value, so that a young bridge shows no stroke at the edge.
  const points = all.slice(
    Math.max(
      0,
      all.findIndex((point) => point !== null),
    ),
  );
  const span = drawnSpan(points, least);
  if (span === null || points.filter((point) => point !== null).length < leastPoints) return "";
  const [from, to] = span;
  let path = "";
  for (const [at, point] of points.entries()) {
    if (point === null) continue;
    const joins = typeof points[at - 1] === "number";
    const x = ((at / Math.max(1, points.length - 1)) * 96).toFixed(1);
    const y = (22 - ((point - from) / (to - from)) * 20).toFixed(1);
    path += joins ? `L${x} ${y}` : `M${x} ${y}h.1`;
  }
  return path;
}

type CurveProps = Readonly<{ of: Sparkline | undefined; place?: Ref<SVGSVGElement> }>;

export const Curve = ({ of, place = null }: CurveProps) => (
  <svg ref={place} class="sparkline" viewBox="0 0 96 24" preserveAspectRatio="none" aria-hidden="true">
    {of ? <path d={pathOf(of)} vector-effect="non-scaling-stroke" /> : null}
  </svg>
);

/* Of many houses only those in sight are requested, some at once, and seldom. */

type OfController = Sparklines["controllers"][string];

const mostAtOnce = 60;
const freshMs = 600_000;
const againMs = 30_000;
/** Curves that come into sight within this time are requested together. */
const gatherMs = 150;

const known = new Map<string, Signal<OfController | null>>();
/** The earliest time for the next request, by controller. */
const nextAt = new Map<string, number>();
/** The reading whose curve is in sight. */
const inSight = new Map<Element, string>();
const drawn = new WeakMap<Element, string>();
let timer: ReturnType<typeof setTimeout> | null = null;

function curvesOf(controller: string): Signal<OfController | null> {
  const held = known.get(controller) ?? signal<OfController | null>(null);
  known.set(controller, held);
  return held;
}

const isDue = (controller: string) => (nextAt.get(controller) ?? 0) <= performance.now();

function askSoon(): void {
  timer ??= setTimeout(() => void ask(), gatherMs);
}

async function ask(): Promise<void> {
  const due = [...new Set(inSight.values())].filter(isDue).slice(0, mostAtOnce);
  for (const controller of due) nextAt.set(controller, performance.now() + freshMs);
  if (due.length > 0) await askFor(due);
  timer = null;
  if ([...inSight.values()].some(isDue)) askSoon();
}

async function askFor(controllers: readonly string[]): Promise<void> {
  const query = new URLSearchParams({ controllers: controllers.join() });
  const { status, body } = await get<Sparklines>(`api/trends?${query.toString()}`, true);
  for (const controller of controllers)
    if (status === 200) curvesOf(controller).value = body?.controllers[controller] ?? null;
    else nextAt.set(controller, performance.now() + againMs);
}

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting) inSight.set(target, drawn.get(target) ?? "");
      else inSight.delete(target);
    askSoon();
  },
  { rootMargin: "200px" },
);

setInterval(askSoon, againMs);

function watch(place: Element | null, controller: string): (() => void) | undefined {
  if (place === null) return undefined;
  drawn.set(place, controller);
  observer.observe(place);
  return () => {
    observer.unobserve(place);
    inSight.delete(place);
  };
}

/** The curve of a key reading in a list of houses. */
export function KeyCurve({ controller, sensor }: Readonly<{ controller: string; sensor: string }>) {
  const place = useRef<SVGSVGElement>(null);
  useEffect(() => watch(place.current, controller), [controller]);
  return <Curve place={place} of={curvesOf(controller).value?.[sensor]} />;
}
