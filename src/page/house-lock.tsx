import { useSignal } from "@preact/signals";
import { actReason, Asking, Field, type Lasting, LastingChoice } from "./inputs.js";
import { session, withoutEmpty } from "./live.js";
import { Icon } from "./parts.js";
import type { ControllerView } from "./protocol.js";
import { t } from "./words.js";

/** Somebody is on the roof: keeps everybody off all actuators of a controller at once, and lets them in again. */
export function HouseLock({ id, actuators }: Pick<ControllerView, "id" | "actuators">) {
  const reason = useSignal("");
  const until = useSignal<Lasting>("");
  const all = Object.values(actuators);
  if (actReason() !== null || all.length === 0) return null;
  const mine = Object.entries(actuators).filter(([, { lock }]) => lock?.by === session.value?.user);
  const isMineAlone = all.every(({ lock }) => !lock || lock.by === session.value?.user);
  const isWhole = all.every(({ lock }) => lock);
  const how = withoutEmpty({ reason: reason.value, until: until.value });
  return (
    <>
      {isWhole ? null : (
        <details class="house-lock">
          <summary>
            <Icon name="lock" /> {t("lock_house")}
          </summary>
          <div class="bar">
            <Field label={t("lock_reason")} bound={reason} />
            <LastingChoice word="lock_until" value={until} />
            <Asking label={t("lock_house")} name="lock" fields={{ controller: id, ...how }} />
          </div>
        </details>
      )}
      {mine.length === 0 ? null : (
        <Asking
          label={t("unlock_mine")}
          name="unlock"
          fields={{ controller: id }}
          each={isMineAlone ? undefined : mine.map(([actuator]) => ({ actuator }))}
        />
      )}
    </>
  );
}
