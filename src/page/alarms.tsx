import { alarms } from "./live.js";
import { Asking } from "./inputs.js";
import { Age, Badge, Head, Icon, Loading, Says } from "./parts.js";
import type { Alarm } from "./protocol.js";
import { alarmText } from "./sentences.js";
import { t, told } from "./words.js";

const weight = { error: 0, warning: 1, info: 2 } as const;
const states = { active: 0, acknowledged: 1, cleared: 2 } as const;

/** What is wrong, the worst first; what to do stands with it. */
export function AlarmsView() {
  if (alarms.value === null) return <Loading />;
  const sorted = Object.values(alarms.value).sort(
    (one, other) => states[one.state] - states[other.state] || weight[one.severity] - weight[other.severity],
  );
  return (
    <>
      <Head name={t("alarms")} />
      {sorted.length === 0 ? (
        <p class="well">
          <Icon name="good" /> {t("all_well")}
        </p>
      ) : null}
      <ul class="alarms">
        {sorted.map((alarm) => (
          <AlarmItem key={alarm.id} alarm={alarm} />
        ))}
      </ul>
    </>
  );
}

function AlarmItem({ alarm }: { readonly alarm: Alarm }) {
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
      {state === "active" ? (
        <Asking label={t("acknowledge")} name="acknowledge" fields={{ alarm: alarm.id }} />
      ) : null}
    </li>
  );
}
