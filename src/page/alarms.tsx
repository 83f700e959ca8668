import { useSignal } from "@preact/signals";
import { request } from "./command.js";
import { alarms, isOperator, session, silentSince } from "./live.js";
import { Age, Badge, Icon, Loading } from "./parts.js";
import type { Alarm } from "./protocol.js";
import { t } from "./words.js";

const weight = { error: 0, warning: 1, info: 2 } as const;
const states = { active: 0, acknowledged: 1, cleared: 2 } as const;

/** What is wrong, the worst first; what to do stands with it. */
export function AlarmsView() {
  const all = alarms.value;
  const said = useSignal("");
  if (all === null) return <Loading />;
  const sorted = Object.values(all).sort(
    (one, other) => states[one.state] - states[other.state] || weight[one.severity] - weight[other.severity],
  );
  const acknowledge = async ({ id }: Alarm) => {
    said.value = (await request("acknowledge", { alarm: id })) ?? "";
  };
  return (
    <>
      <div class="bar">
        <h1>{t("alarms")}</h1>
      </div>
      <p role="alert" class="said">
        {said}
      </p>
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

interface ItemProps {
  readonly alarm: Alarm;
  readonly onAcknowledge: (alarm: Alarm) => Promise<void>;
}

function AlarmItem({ alarm, onAcknowledge }: ItemProps) {
  const { state, severity, message, remedy, since, controller, type, by } = alarm;
  return (
    <li class={`card ${severity} ${state}`}>
      <div class="head">
        <Badge kind={severity === "error" ? "bad" : "warn"}>
          <Icon name={severity === "info" ? "uncertain" : "bad"} />
          {type.replaceAll("_", " ")}
        </Badge>
        {state === "active" ? null : <Badge kind="plain">{t(state)}</Badge>}
        {controller ? <a href={`#/controller/${encodeURIComponent(controller)}`}>{controller}</a> : null}
        {since ? <Age at={since} /> : null}
      </div>
      <p>{message}</p>
      {remedy ? <p class="remedy">{remedy}</p> : null}
      {by ? <small>{t("by", { by })}</small> : null}
      {state === "active" ? (
        <div>
          <button
            type="button"
            disabled={!isOperator.value || silentSince.value !== null}
            onClick={() => void onAcknowledge(alarm)}
          >
            {t("acknowledge")}
          </button>
          {isOperator.value ? null : <p class="why">{t(session.value?.user ? "why_role" : "anonymous")}</p>}
        </div>
      ) : null}
    </li>
  );
}
