import { alarms, link } from "./live.js";
import { Asking } from "./inputs.js";
import { Age, Badge, Head, Icon, Loading, Says } from "./parts.js";
import type { Alarm } from "./protocol.js";
import { alarmText, whoText } from "./sentences.js";
import { t, codeText } from "./words.js";

const weight = { active: 0, acknowledged: 3, cleared: 6, error: 0, warning: 1, info: 2 } as const;
const weightOf = ({ state, severity }: Alarm): number => weight[state] + weight[severity];

/** The alarms, the worst first, each with what to do. */
export function AlarmsView() {
  if (alarms.value === null) return <Loading />;
  const sorted = Object.values(alarms.value).sort((one, other) => weightOf(one) - weightOf(other));
  return (
    <>
      <Head name={t("alarms")} />
      {sorted.length === 0 ? (
        <p class="well good">
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
  // A cleared alarm is no longer red.
  const look = state === "cleared" ? "plain" : severity === "error" ? "bad" : "warn";
  return (
    <li class={`card ${look}`}>
      <div class="head">
        <Badge kind={look}>
          <Icon name={severity === "info" ? "uncertain" : "bad"} />
          {title}
        </Badge>
        <Age at={since} />
        {controller ? (
          <a href={link(`controller/${encodeURIComponent(controller)}`)}>
            {name ?? [controller, actuator].filter(Boolean).join(" / ")}
          </a>
        ) : null}
        {state === "active" ? null : (
          <Badge kind="plain">
            {state === "acknowledged" && by ? t("acknowledged_by", { by: whoText(by) }) : codeText(state)}
          </Badge>
        )}
      </div>
      <p>
        <Says of={sentences} />
      </p>
      {state === "active" ? (
        <Asking label={t("acknowledge")} name="acknowledge" fields={{ alarm: alarm.id }} />
      ) : null}
    </li>
  );
}
