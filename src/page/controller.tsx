import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import {
  Confirm,
  Controls,
  Keepers,
  request,
  Said,
  send,
  type Sent,
  standingReason,
  type Target,
} from "./command.js";
import { get, now, view, viewErrors } from "./live.js";
import {
  Acting,
  Age,
  Availability,
  Badge,
  Field,
  Loading,
  Quality,
  roleReason,
  Spark,
  Value,
} from "./parts.js";
import type { Plot } from "./plot.js";
import type { ActuatorView, ControllerView, ParameterView, SensorView, Trends } from "./protocol.js";
import { language, t, timeText, told } from "./words.js";
import { wordLabel } from "../greenhouse/labels.js";

const plot = signal<typeof Plot | null>(null);

const loadPlot = async () => (plot.value = (await import("./plot.js")).Plot);

/** One controller: what it measures, what can be moved, and what became of it. */
export function ControllerPage({ id }: { readonly id: string }) {
  const name = `controller/${id}`;
  const shown = view<ControllerView>(name).value;
  const trends = useSignal<Trends | null>(null);
  const plotted = useSignal<string | null>(null);
  useEffect(() => {
    const load = async () => {
      trends.value = (await get<Trends>(`api/trends/${encodeURIComponent(id)}`)).body;
    };
    void load();
    const timer = setInterval(() => void load(), 300_000);
    return () => clearInterval(timer);
  }, [id]);
  if (shown === null) return viewErrors.value.has(name) ? <p class="quiet">{t("gone")}</p> : <Loading />;
  const { availability, actuators, sensors, status, parameters } = shown;
  const about = { controller: shown.id, availability };
  const Shown = plot.value;
  const plottedSensor = plotted.value === null ? undefined : sensors[plotted.value];
  return (
    <>
      <Title of={shown} />
      <div class="columns">
        <section aria-labelledby="readings">
          <h2 id="readings">{t("readings")}</h2>
          <Readings
            sensors={sensors}
            trends={trends.value}
            onPlot={(sensor) => void loadPlot().then(() => (plotted.value = sensor))}
          />
          <Statuses status={status} />
        </section>
        <section aria-labelledby="actuators">
          <h2 id="actuators">{t("actuators")}</h2>
          {Object.entries(actuators).map(([key, actuator]) => (
            <ActuatorCard
              key={key}
              target={{ ...about, target: "actuator", id: key, name: actuator.name }}
              actuator={actuator}
            />
          ))}
          {Object.keys(parameters).length > 0 ? <h2>{t("parameters")}</h2> : null}
          {Object.entries(parameters).map(([key, one]) => (
            <ParameterCard
              key={key}
              target={{ ...about, target: "parameter", id: key, name: one.name, unit: one.unit }}
              parameter={one}
            />
          ))}
        </section>
      </div>
      {plotted.value !== null && plottedSensor !== undefined && Shown !== null ? (
        <Shown
          {...{ controller: shown.id, sensor: plotted.value, unit: plottedSensor.unit }}
          name={labelOf(plottedSensor)}
          onClose={() => (plotted.value = null)}
        />
      ) : null}
    </>
  );
}

const Title = ({ of: { id, name, code, availability, problem } }: { readonly of: ControllerView }) => (
  <div class="bar">
    <h1>{name}</h1>
    <Availability of={availability} />
    {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
    {problem && roleReason() === null ? (
      <Acting label={t("acknowledge")} act={() => request("acknowledge", { controller: id })} />
    ) : null}
    <small class="quiet">{code}</small>
    <button
      {...{ type: "button", class: "jump" }}
      onClick={() => document.getElementById("actuators")?.scrollIntoView()}
    >
      {t("actuators")}
    </button>
  </div>
);

const labelOf = ({ label }: Pick<SensorView, "label">): string => label[language.value];

type ReadingsProps = Pick<ControllerView, "sensors"> &
  Readonly<{ trends: Trends | null; onPlot: (sensor: string) => void }>;

function Readings({ sensors, trends, onPlot }: ReadingsProps) {
  return (
    <table class="readings">
      <thead class="unseen">
        <tr>
          {(["name", "value", "quality", "trend"] as const).map((word) => (
            <th key={word} scope="col">
              {t(word)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {Object.entries(sensors).map(([id, sensor]) => (
          <tr key={id}>
            <th scope="row">{labelOf(sensor)}</th>
            <td class="reading">
              <Value value={sensor.value} unit={sensor.unit} />
            </td>
            <td class="meta">
              <Quality of={sensor.quality} /> <Age at={sensor.measured_at ?? sensor.received_at} />
            </td>
            <td class="day">
              {typeof sensor.value === "number" ? (
                <button
                  type="button"
                  class="spark"
                  aria-label={t("trend_of", { name: labelOf(sensor) })}
                  onClick={() => onPlot(id)}
                >
                  <Spark points={trends?.sensors[id] ?? []} />
                </button>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Statuses({ status }: { readonly status: ControllerView["status"] }) {
  const rows = Object.entries(status);
  if (rows.length === 0) return null;
  return (
    <>
      <h2>{t("status")}</h2>
      <ul class="statuses">
        {rows.map(([id, one]) => (
          <li key={id}>
            <span>{one.label[language.value]}</span>
            <Badge kind={one.quality === "good" ? "plain" : "warn"}>
              {one.quality === "good" ? wordLabel(language.value, one.state) : told("stale")}
            </Badge>
            <Age at={one.changed_at} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The state in the platform's words, never the wished one. */
function stateText({ state, position, value }: ActuatorView): string {
  if (!state) return "–";
  if (state === "position" && typeof position === "number") return `${position} %`;
  const word = wordLabel(language.value, state);
  return state === "unknown" && value ? `${word} ${t("raw", { value })}` : word;
}

type HeadProps = Readonly<{
  name: string;
  of: Pick<ActuatorView, "quality" | "read_at">;
  children: ComponentChildren;
}>;

/** Name, state, and how good and old that is. */
const Head = ({ name, of: { quality, read_at: at }, children }: HeadProps) => (
  <div class="head">
    <h3>{name}</h3>
    <strong class="state">{children}</strong>
    <span class="meta">
      <Quality of={quality} /> <Age at={at} />
    </span>
  </div>
);

function ActuatorCard({ target, actuator }: Readonly<{ target: Target; actuator: ActuatorView }>) {
  const { lease } = actuator;
  return (
    <article class="card" aria-label={target.name}>
      <Head of={actuator} name={target.name}>
        {stateText(actuator)}
      </Head>
      {lease ? (
        <p class="lease">
          {t("lease", {
            word: wordLabel(language.value, lease.ends_with),
            time: timeText(lease.until, now.value),
          })}
        </p>
      ) : null}
      <Controls target={target} actuator={actuator} />
      {actuator.allowed ? <Keepers target={target} actuator={actuator} /> : null}
    </article>
  );
}

function ParameterCard({ target, parameter }: Readonly<{ target: Target; parameter: ParameterView }>) {
  const wanted = useSignal<string | number | null>(null);
  const sent = useSignal<Sent | null>(null);
  const { writable, unit } = parameter;
  const standing = standingReason(target, false);
  const submit = async (command: string | number) => {
    wanted.value = null;
    sent.value = await send(target, command);
  };
  return (
    <article class="card" aria-label={target.name}>
      <Head of={parameter} name={target.name}>
        <Value value={parameter.value} unit={unit} />
      </Head>
      {writable ? (
        <div class="controls">
          <Field
            {...{ ...writable, type: "number", disabled: standing !== null }}
            label={`${writable.min} – ${writable.max} ${unit ?? ""}`}
            value={wanted.value ?? ""}
            onInput={({ currentTarget: { value, valueAsNumber, validity } }) =>
              (wanted.value = value !== "" && validity.valid ? valueAsNumber : null)
            }
          />
          {wanted.value === null ? null : (
            <Confirm {...{ target, choice: wanted }} isOff={standing !== null} onSend={submit} />
          )}
          {standing === null ? null : <p class="why">{standing}</p>}
          <Said sent={sent.value} command={parameter.command} result={parameter.result} />
        </div>
      ) : null}
    </article>
  );
}
