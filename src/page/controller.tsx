import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Confirm, Controls, Lock, Said, type Target } from "./command.js";
import { bridge, get, isOperator, now, post, session, silentSince, view, viewErrors } from "./live.js";
import { Age, Badge, Icon, Loading, Quality, Spark, Value } from "./parts.js";
import type { Plot } from "./plot.js";
import type { ActuatorView, ControllerView, ParameterView, SensorView, Trends } from "./protocol.js";
import { language, t, timeText } from "./words.js";
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
  const { availability, actuators, sensors, status, parameters, problem } = shown;
  const about = { controller: shown.id, availability };
  const Shown = plot.value;
  const plottedSensor = plotted.value === null ? undefined : sensors[plotted.value];
  return (
    <>
      <div class="bar">
        <h1>{shown.name}</h1>
        <Badge kind={availability === "online" ? "good" : availability === "offline" ? "bad" : "plain"}>
          {t(availability)}
        </Badge>
        {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
        <small class="quiet">{shown.code}</small>
        <button
          type="button"
          class="jump"
          onClick={() => document.getElementById("actuators")?.scrollIntoView()}
        >
          {t("actuators")}
        </button>
      </div>
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

const labelOf = ({ label }: Pick<SensorView, "label">): string => label[language.value];

interface ReadingsProps {
  readonly sensors: ControllerView["sensors"];
  readonly trends: Trends | null;
  readonly onPlot: (sensor: string) => void;
}

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
              {one.quality === "good" ? wordLabel(language.value, one.state) : t("stale")}
            </Badge>
            <Age at={one.changed_at} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The state in the platform's words, never the wished one. */
function State({ actuator }: { readonly actuator: ActuatorView }) {
  const { state, position, value } = actuator;
  if (!state) return <strong class="state">–</strong>;
  const word =
    state === "position" && typeof position === "number" ? `${position} %` : wordLabel(language.value, state);
  return (
    <strong class="state">
      {word}
      {state === "unknown" && value ? <small> {t("raw", { value })}</small> : null}
    </strong>
  );
}

function ActuatorCard({ target, actuator }: { readonly target: Target; readonly actuator: ActuatorView }) {
  const { lease } = actuator;
  return (
    <article class="card" aria-label={target.name}>
      <div class="head">
        <h3>{target.name}</h3>
        <State actuator={actuator} />
        <span class="meta">
          <Quality of={actuator.quality} /> <Age at={actuator.read_at} />
        </span>
      </div>
      {actuator.lock ? (
        <Badge kind="warn">
          <Icon name="lock" />
          {actuator.lock.by}
        </Badge>
      ) : null}
      {lease ? (
        <p class="lease">
          {t("lease", {
            word: wordLabel(language.value, lease.ends_with),
            time: timeText(lease.until, now.value),
          })}
        </p>
      ) : null}
      <Controls target={target} actuator={actuator} />
      {actuator.allowed ? <Lock target={target} lock={actuator.lock} /> : null}
    </article>
  );
}

function ParameterCard({
  target,
  parameter,
}: {
  readonly target: Target;
  readonly parameter: ParameterView;
}) {
  const wanted = useSignal("");
  const isAsked = useSignal(false);
  const { writable } = parameter;
  const value = Number(wanted.value);
  const isOff = silentSince.value !== null || !isOperator.value || bridge.value?.read_only === true;
  const said = useSignal<{ readonly id: string; readonly said: string | null } | null>(null);
  const submit = async () => {
    const body = { controller: target.controller, parameter: target.id, command: value };
    const { status, body: answer } = await post<{ readonly id?: string; readonly message?: string }>(
      "api/commands",
      body,
    );
    said.value = { id: answer?.id ?? "", said: status === 202 ? null : (answer?.message ?? t("not_sent")) };
    isAsked.value = false;
  };
  return (
    <article class="card" aria-label={target.name}>
      <div class="head">
        <h3>{target.name}</h3>
        <strong class="state">
          <Value value={parameter.value} unit={parameter.unit} />
        </strong>
        <span class="meta">
          <Quality of={parameter.quality} /> <Age at={parameter.read_at} />
        </span>
      </div>
      {writable ? (
        <div class="controls">
          <label class="field">
            <span>
              {writable.min} – {writable.max} {parameter.unit ?? ""}
            </span>
            <input
              type="number"
              {...writable}
              disabled={isOff}
              value={wanted}
              onInput={({ currentTarget }) => {
                wanted.value = currentTarget.value;
                isAsked.value = currentTarget.value !== "" && currentTarget.checkValidity();
              }}
            />
          </label>
          {isAsked.value ? (
            <Confirm
              target={target}
              choice={value}
              isOff={isOff}
              onSend={submit}
              onCancel={() => (isAsked.value = false)}
            />
          ) : null}
          {isOff ? (
            <p class="why">
              {silentSince.value === null
                ? t(session.value?.user ? "why_role" : "anonymous")
                : t("why_silent")}
            </p>
          ) : null}
          <Said sent={said.value} command={parameter.command} result={parameter.result} />
        </div>
      ) : null}
    </article>
  );
}
