import { signal } from "@preact/signals";
import { view } from "./live.js";
import { Field } from "./inputs.js";
import { MoreRows, shownRows } from "./overview.js";
import { Badge, Head, Icon, Listed, Loading, Told } from "./parts.js";
import type { AccountReport, Accounts } from "./protocol.js";
import { accountStateText } from "./sentences.js";
import { collator, numberText, roundedText, t, codeText } from "./words.js";

/* All accounts of a fleet, those that need somebody first. */

const accounts = view<Accounts>("accounts");
const search = signal("");

const isAway = ({ state }: AccountReport): boolean => state !== "running";

/** An unknown state counts as no trouble. */
const isTrouble = (state: string | null | undefined): boolean => (state ?? "online") !== "online";

const severities = { error: 16, warning: 8, info: 1 } as const;

const urgency = (one: AccountReport): number =>
  (isAway(one) ? (one.state === "starting" ? 32 : 128) : 0) +
  (isTrouble(one.platform) ? 32 : 0) +
  (isTrouble(one.broker) ? 32 : 0) +
  (one.worst ? severities[one.worst] : 0) +
  (one.offline > 0 || one.problems > 0 ? 8 : 0) +
  (one.guards > 0 ? 4 : 0) +
  (one.old > 0 ? 2 : 0) +
  (one.locks > 0 ? 2 : 0);

type Item = readonly [name: string, report: AccountReport];

const byUrgency = ([oneName, one]: Item, [otherName, other]: Item): number =>
  urgency(other) - urgency(one) || collator.compare(oneName, otherName);

const countText = (word: "alarm" | "guard" | "lock", count: number): string =>
  count === 1 ? t(`one_${word}`) : t(`count_${word}s`, { count });

/** What is wrong with an account, with its guards and locks. */
function Marks({ of }: Readonly<{ of: AccountReport }>) {
  const { platform, broker, alarms, worst, offline, old, guards, locks } = of;
  const marks = [
    ["bad", isTrouble(platform) && t("account_platform", { state: codeText(platform ?? "") })],
    ["bad", isTrouble(broker) && t("account_broker", { state: codeText(broker ?? "") })],
    [worst === "error" ? "bad" : "warn", alarms > 0 && countText("alarm", alarms)],
    ["bad", offline > 0 && t("count_offline", { count: offline })],
    ["warn", old > 0 && t("count_old", { count: old })],
    ["warn", guards > 0 && countText("guard", guards)],
    ["warn", locks > 0 && countText("lock", locks)],
    ["plain", of.read_only && t("account_read_only")],
  ] as const;
  return (
    <span class="marks">
      {marks.map(([kind, text]) =>
        text === false ? null : (
          <Badge key={text} kind={kind}>
            {text}
          </Badge>
        ),
      )}
    </span>
  );
}

/** The temperatures of its greenhouses, from the coldest to the warmest. */
function Temperature({
  of: { least, most, unit },
}: Readonly<{ of: NonNullable<AccountReport["temperature"]> }>) {
  const [from, to] = [least, most].map((one) => numberText(roundedText(one) ?? ""));
  return (
    <span class="temperature">
      <Icon name="sensors" />
      {from === to ? from : t("from_to", { least: from, most: to })} {unit}
    </span>
  );
}

function Row({ name, of }: Readonly<{ name: string; of: AccountReport }>) {
  const { online, offline, state, error, stations, temperature } = of;
  return (
    <li>
      <a class="row" href={`#/account/${name}/overview`}>
        <span class="name">
          <strong>{name}</strong>
          {stations.length > 0 ? <small class="quiet">{stations.join(t("comma"))}</small> : null}
        </span>
        {isAway(of) ? (
          <span class="away">
            <Badge kind={state === "starting" ? "busy" : "bad"}>{accountStateText(state)}</Badge>
            {error ? (
              <small class="message">
                <Told text={error} />
              </small>
            ) : null}
          </span>
        ) : (
          <span>
            {online + offline === 0 ? t("not_known") : t("online_of", { online, count: online + offline })}
            {temperature ? <Temperature of={temperature} /> : null}
          </span>
        )}
        {isAway(of) ? <span class="marks" /> : <Marks of={of} />}
        <Icon name="chevron" />
      </a>
    </li>
  );
}

/** One line with the state of all accounts. */
function Summary({ of }: Readonly<{ of: readonly AccountReport[] }>) {
  const sum = (count: (one: AccountReport) => number) => of.reduce((all, one) => all + count(one), 0);
  const away = sum((one) => Number(isAway(one)));
  const alarms = sum((one) => one.alarms);
  const count = sum((one) => one.online + one.offline);
  return (
    <p class="truth">
      <Badge kind="plain">
        {of.length === 1 ? t("one_account") : t("count_accounts", { count: of.length })}
      </Badge>
      {away > 0 ? <Badge kind="bad">{t("count_away", { count: away })}</Badge> : null}
      <Badge kind="good">{t("online_of", { online: sum((one) => one.online), count })}</Badge>
      {alarms > 0 ? <Badge kind="bad">{countText("alarm", alarms)}</Badge> : null}
    </p>
  );
}

export default function AccountsView() {
  const known = accounts.value;
  if (known === null) return <Loading />;
  const all = Object.entries(known.accounts);
  const wanted = search.value.trim().toLowerCase();
  const items = all.filter(([name]) => name.includes(wanted)).sort(byUrgency);
  return (
    <>
      <Head name={t("accounts")}>
        {all.length > 12 ? <Field label={t("search")} type="search" bound={search} /> : null}
      </Head>
      {known.mistake ? (
        <p class="notice bad">
          {t("fleet_mistake")} <Told text={known.mistake} />
        </p>
      ) : null}
      <Summary of={all.map(([, report]) => report)} />
      <Listed of={items} none="none_found">
        <ul class="rows accounts">
          {items.slice(0, shownRows.value).map(([name, report]) => (
            <Row key={name} name={name} of={report} />
          ))}
        </ul>
      </Listed>
      <MoreRows count={items.length} />
    </>
  );
}
