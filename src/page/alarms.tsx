import { useSignal } from "@preact/signals";
import { request } from "./command.js";
import { alarms } from "./live.js";
import { Acting, Age, Alert, Badge, Icon, Loading, Says } from "./parts.js";
import type { Alarm } from "./protocol.js";
import { alarmText, type Sentence } from "./sentences.js";
import { t, told } from "./words.js";

const weight = { error: 0, warning: 1, info: 2 } as const;
const states = { active: 0, acknowledged: 1, cleared: 2 } as const;

/** What is wrong, the worst first; what to do stands with it. */
export function AlarmsView() {
  const all = alarms.value;
  const said = useSignal<Sentence | null>(null);
  if (all === null) return <Loading />;
  const sorted = Object.values(all).sort(
    (one, other) => states[one.state] - states[other.state] || weight[one.severity] - weight[other.severity],
  );
  const acknowledge = async ({ id }: Alarm) => {
    said.value = await request("acknowledge", { alarm: id });
  };
  return (
    <>
      <div class="bar">
        <h1>{t("alarms")}</h1>
      </div>
      <Alert said={said} />
      {sorted.length === 0 ? (
        <p class="well">
          <Icon name="good" /> {t("all_well")}
        </p>
      ) : null}
      <ul class="alarms">
        {sorted.map((alarm) => (
          <AlarmItem key={alarm.id} alarm={alarm} onAcknowledge={acknowledge} />
        ))}
      </ul>
    </>
  );
}

type ItemProps = Readonly<{ alarm: Alarm; onAcknowledge: (alarm: Alarm) => Promise<void> }>;

function AlarmItem({ alarm, onAcknowledge }: ItemProps) {
  const { state, severity, since, controller, actuator, name, by } = alarm;
  const { title, sentences } = alarmText(alarm);
  return (
    <li class={`card ${severity} ${state}`}>
      <div class="head">
        <Badge kind={severity === "error" ? "bad" : "warn"}>
          <Icon name={severity === "info" ? "uncertain" : "bad"} />
          {title}
        </Badge>
        <Age at={since} />
        {controller ? (
          <a href={`#/controller/${encodeURIComponent(controller)}`}>
            {name ?? [controller, actuator].filter(Boolean).join(" / ")}
          </a>
        ) : null}
        {state === "active" ? null : <Badge kind="plain">{told(state)}</Badge>}
      </div>
      <p>
        <Says of={sentences} />
      </p>
      {by ? <small>{t("by", { by })}</small> : null}
      {state === "active" ? <Acting label={t("acknowledge")} act={() => onAcknowledge(alarm)} /> : null}
    </li>
  );
}
