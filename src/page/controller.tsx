import { ofNames } from "../greenhouse/labels.js";
import { signal, useSignal } from "@preact/signals";
import { Card, type Commandable } from "./command.js";
import { actuatorGroups, WeatherStrip } from "./actuator-summary.js";
import { alarms, get, isOperator, link, missing, session, useAnswer, view } from "./live.js";
import { actReason, Asking, Button, Locking } from "./inputs.js";
import {
  Age,
  AvailabilityBeside,
  Badge,
  Head,
  Icon,
  type IconName,
  Loading,
  Section,
  useCurves,
} from "./parts.js";
import type { Plot } from "./plot.js";
import type { Alarm, ControllerView, Trends } from "./protocol.js";
import { Readings, Statuses } from "./readings.js";
import { limitReasons } from "./sentences.js";
import { codeText, language, t } from "./words.js";

const plot = signal<typeof Plot | null>(null);

/** One controller: its problems and limits, readings, actuators, and what happened. */
export function ControllerPage({ id }: { readonly id: string }) {
  const name = `controller/${id}`;
  const shown = view<ControllerView>(name).value;
  const trends = useAnswer<Trends>(`api/trends/${encodeURIComponent(id)}`, 60_000).value;
  const plotted = useSignal("");
  useCurves();
  if (shown === null) return missing.value.has(name) ? <p class="quiet">{t("gone")}</p> : <Loading />;
  const { sensors, status, actuators, parameters } = shown;
  const isKnown = Object.keys({ ...sensors, ...status, ...actuators, ...parameters }).length > 0;
  const onPlot = async (one: string) => {
    plot.value = (await import("./plot.js")).Plot;
    plotted.value = one;
  };
  const Shown = plot.value;
  const sections = sectionsOf(shown);
  return (
    <>
      <Title of={shown} />
      <Jumps
        to={[...(Object.keys(sensors).length > 0 ? ["sensors"] : []), ...sections.map(({ key }) => key)]}
      />
      <WeatherStrip of={shown.weather} />
      <Wrong of={shown} />
      <Holding of={shown} />
      {isKnown ? null : <p class="quiet">{t("nothing_known")}</p>}
      <div class="columns">
        <div id="sensors">
          <Section name={codeText("sensors")} of={sensors}>
            <Readings sensors={sensors} trends={trends} onPlot={onPlot} />
          </Section>
          <Statuses status={status} />
        </div>
        {halves(sections).map((half, at) => (
          <div key={at}>
            {half.map(({ key, items }) => (
              <section key={key} id={key} aria-label={codeText(key)}>
                <h2>
                  <Icon name={key} /> {codeText(key)}
                </h2>
                {items.map(([itemId, one]) => (
                  <Card key={itemId} controller={shown} id={itemId} of={one} />
                ))}
              </section>
            ))}
          </div>
        ))}
      </div>
      {sensors[plotted.value] && Shown ? (
        <Shown controller={shown} sensor={plotted.value} onClose={() => (plotted.value = "")} />
      ) : null}
    </>
  );
}

interface Cards {
  readonly key: IconName;
  readonly items: readonly (readonly [id: string, one: Commandable])[];
}

/** Actuators by family, then the parameters. */
function sectionsOf({ actuators, parameters }: ControllerView): readonly Cards[] {
  const all = Object.entries(actuators);
  const groups = actuatorGroups.map((key): Cards => ({
    key,
    items: all.filter(([, { group }]) => group === key),
  }));
  const settings: Cards = { key: "parameters", items: Object.entries(parameters) };
  return [...groups, settings].filter(({ items }) => items.length > 0);
}

/** Splits the sections into two columns of about equal length, keeping their order. */
function halves(sections: readonly Cards[]): readonly (readonly Cards[])[] {
  const lines = ({ items }: Cards) => items.length + 1;
  const all = sections.reduce((sum, one) => sum + lines(one), 0);
  const first: Cards[] = [];
  let sum = 0;
  for (const one of sections) {
    if (sum > 0 && sum + lines(one) / 2 > all / 2) break;
    sum += lines(one);
    first.push(one);
  }
  return [first, sections.slice(first.length)];
}

/** The video's address often contains a login, so it is requested only when an operator presses the button. */
function Video({ id }: { readonly id: string }) {
  const open = async () => {
    const { body } = await get<{ url: string }>(`api/stream/${encodeURIComponent(id)}`);
    // Only addresses of the web and of video are opened, never a script.
    if (body !== null && /^(?:https?|rtsp|rtmp|ws|wss):\/\//i.test(body.url))
      window.open(body.url, "_blank", "noopener,noreferrer");
  };
  return (
    <Button class="link" act={open}>
      {t("video")}
    </Button>
  );
}

const Title = ({
  of: { id, name, code, station, availability, last_online_at: at, video, problem, sensors, actuators },
}: {
  readonly of: ControllerView;
}) => (
  <>
    <a class="back" href={link("overview")}>
      <Icon name="back" />
      {t("back")}
    </a>
    <Head name={name}>
      <span class="title">
        <AvailabilityBeside
          of={availability}
          qualities={Object.values(sensors).map(({ quality }) => quality)}
        />
        {availability === "offline" && at !== null ? (
          <small class="quiet">
            {t("last_online")} <Age at={at} />
          </small>
        ) : null}
        <small class="quiet">{[code, station].filter(Boolean).join(" · ")}</small>
        {video && isOperator.value ? <Video id={id} /> : null}
        <HouseLock id={id} actuators={actuators} />
        {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
        {problem ? <Asking label={t("acknowledge")} name="acknowledge" fields={{ controller: id }} /> : null}
      </span>
    </Head>
  </>
);

/** Locks and unlocks all actuators of a controller at once, for instance while somebody is on the roof. */
function HouseLock({ id, actuators }: Pick<ControllerView, "id" | "actuators">) {
  const all = Object.entries(actuators);
  if (actReason() !== null || all.length === 0) return null;
  const only = (some: typeof all) => some.map(([actuator]) => ({ actuator }));
  const free = all.filter(([, { lock }]) => !lock);
  const mine = all.filter(([, { lock }]) => lock?.by === session.value?.user);
  const others = all.filter(([, { lock }]) => lock && lock.by !== session.value?.user);
  // The controller as a whole can be locked and unlocked only if nobody else has locked a part of it.
  const each = (some: typeof all) => (others.length === 0 ? undefined : only(some));
  return (
    <>
      {free.length === 0 ? null : (
        <Locking label={t("lock_house")} fields={{ controller: id }} each={each(free)} />
      )}
      {mine.length === 0 ? null : (
        <Asking label={t("unlock_mine")} name="unlock" fields={{ controller: id }} each={each(mine)} />
      )}
      {free.length + mine.length === 0
        ? null
        : others.map(([actuator, { name, lock }]) => (
            <Badge key={actuator} kind="warn">
              {name}: {t("locked_by", { by: lock?.by ?? "", times: "" })}
            </Badge>
          ))}
    </>
  );
}

/** Links to the sections further down. */
const Jumps = ({ to }: Readonly<{ to: readonly string[] }>) =>
  to.length < 3 ? null : (
    <nav class="jumps" aria-label={t("jump")}>
      {to.map((key) => (
        <Button
          key={key}
          class="link"
          act={() => document.getElementById(key)?.scrollIntoView({ behavior: "smooth" })}
        >
          {codeText(key)}
        </Button>
      ))}
    </nav>
  );

/** The controller's alarms, each kind once with its subjects; unacknowledged ones get a button. */
function Wrong({ of: { id, actuators, sensors } }: { readonly of: ControllerView }) {
  const own = Object.values(alarms.value ?? {}).filter(
    ({ controller, state }) => controller === id && state !== "cleared",
  );
  const kinds = [...new Set(own.map(({ type }) => type))];
  if (kinds.length === 0) return null;
  return (
    <ul class="wrong">
      {kinds.map((kind) => {
        const same = own.filter(({ type }) => type === kind);
        const names = same.flatMap(({ actuator, sensor }) =>
          actuator
            ? [actuators[actuator]?.name ?? actuator]
            : sensor
              ? [sensors[sensor]?.label[ofNames(language.value)] ?? sensor]
              : [],
        );
        const [oldest] = same.map(({ since }) => since).sort();
        return (
          <li
            key={kind}
            class={`notice ${same.some(({ severity }) => severity === "error") ? "bad" : "warn"}`}
          >
            <Icon name="alarms" />
            <span>
              <a href={link("alarms")}>{codeText(kind)}</a> <small>{names.join(t("comma"))}</small>{" "}
              <Age at={oldest} />
            </span>
            <Acknowledging of={same} />
          </li>
        );
      })}
    </ul>
  );
}

/** Buttons for alarms that nobody has acknowledged, if the visitor may. */
function Acknowledging({ of }: Readonly<{ of: readonly Alarm[] }>) {
  const active = of.filter(({ state }) => state === "active");
  if (active.length === 0 || actReason() !== null) return null;
  return (
    <span class="buttons">
      {active.map(({ id }) => (
        <Asking key={id} label={t("acknowledge")} name="acknowledge" fields={{ alarm: id }} />
      ))}
    </span>
  );
}

/** The limits in force, each once, with its actuators. */
function Holding({ of }: { readonly of: ControllerView }) {
  const held = new Map<string, string[]>();
  for (const actuator of Object.values(of.actuators)) {
    const { allowed, lock } = actuator;
    const because = allowed?.because.filter(({ rule }) => rule !== "read_only") ?? [];
    const alone = { lock, guards: actuator.guards, allowed: allowed && { ...allowed, because } };
    for (const reason of limitReasons(alone, of))
      held.set(reason, [...(held.get(reason) ?? []), actuator.name]);
  }
  if (held.size === 0) return null;
  return (
    <ul class="wrong">
      {[...held].map(([reason, names]) => (
        <li key={reason} class="notice warn">
          <Icon name="shield" />
          <span>
            <strong>{reason}</strong> <small>{names.join(t("comma"))}</small>
          </span>
        </li>
      ))}
    </ul>
  );
}
