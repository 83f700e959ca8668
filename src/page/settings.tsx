import { effect, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Alert, Button, Choice, Field } from "./inputs.js";
import { post, session } from "./live.js";
import { MessageTest } from "./diagnostics.js";
import { Head, Loading, Told } from "./parts.js";
import type { ApiError, GivenSetting, SettingNode, SettingsDocument, SettingsProposal } from "./protocol.js";
import { errorSentence } from "./sentences.js";
import {
  countOfChanges,
  draft,
  given,
  hasChanges,
  isMissing,
  isSaving,
  load,
  loadSensors,
  mirrored,
  move,
  orders,
  part,
  proposal,
  put,
  said,
  sensorNames,
  settings,
  shownSensors,
  takeOut,
  text,
  wanted,
} from "./settings-draft.js";
import {
  Attempts,
  FoundThings,
  isSavedAllTheSame,
  Logins,
  mayBeSaved,
  ProgramPart,
  Tries,
} from "./settings-more.js";
import {
  countIn,
  first,
  inKey,
  inOrder,
  isElsewhere,
  isGiven,
  isOrdered,
  itemKey,
  itemsOf,
  parseList,
  namesIn,
  nodesOf,
  partNames,
  partsOf,
  type Pattern,
  parseTyped,
  sensorNameAt,
  unitKey,
} from "./settings-parts.js";
import { choiceText, labelOf, s, sentenceOf } from "./settings-words.js";
import "./settings.css";
import { language } from "./words.js";

/* The configuration in forms made from its schema. Changes count only once saved, and are shown before saving. */

const checkAfterMs = 400;
let asked = 0;
let hadChanges = false;

/** Gets the verdict of `check` while typing; only the answer to the newest question counts. */
async function check(about: object): Promise<void> {
  asked += 1;
  const own = asked;
  const { status, body } = await post<SettingsProposal>("api/settings/check", {
    ...about,
    language: language.value,
  });
  if (own !== asked) return;
  if (status === 200) proposal.value = body;
  else said.value = errorSentence(body);
}

effect(() => {
  if (!hasChanges.value) {
    hadChanges = false;
    asked += 1;
    proposal.value = null;
    return;
  }
  // What was saved before is not what is being changed now.
  if (!hadChanges) said.value = null;
  hadChanges = true;
  const about = wanted.value;
  const timer = setTimeout(() => void check(about), checkAfterMs);
  return () => clearTimeout(timer);
});

function discard(): void {
  draft.value = {};
  orders.value = {};
  text.value = null;
  said.value = null;
}

const againMs = 1_500;
const mostTries = 20;

/** Loads again until the bridge has changed, as it may be between two runs. */
async function loadAgain(before: string, tries = 0): Promise<void> {
  await load();
  if (settings.value?.etag !== before || tries >= mostTries) return;
  setTimeout(() => void loadAgain(before, tries + 1), againMs);
}

async function save(): Promise<void> {
  const { etag = "" } = settings.value ?? {};
  isSaving.value = true;
  const answer = async () => {
    if (!(await mayBeSaved())) return null;
    return post<SettingsProposal & SettingsDocument>("api/settings", {
      ...wanted.value,
      etag,
      language: language.value,
    });
  };
  const answered = await answer().finally(() => (isSaving.value = false));
  if (answered === null) return;
  const { status, body } = answered;
  if (status === 200 && body !== null) {
    const isRun = body.need_run.length > 0;
    discard();
    said.value = { text: s(isRun ? "saved_run" : "saved_now") };
    setTimeout(() => void loadAgain(etag), isRun ? againMs : 0);
    return;
  }
  const { error } = (body ?? {}) as Partial<ApiError>;
  if (error === "changed") {
    await load();
    said.value = { text: s("changed_meanwhile") };
    await check(wanted.value);
  } else if (error === "wrong" && body !== null) proposal.value = body;
  else said.value = errorSentence(body);
}

/* Fields. */

type NodeProps = Readonly<{ node: SettingNode; at: string; pattern: Pattern }>;

const errorsAt = (key: string): readonly string[] => proposal.value?.errors[key] ?? [];

/** Errors of a list in one line, whose items have no fields of their own. */
const errorsIn = (key: string): readonly string[] =>
  Object.entries(proposal.value?.errors ?? {}).flatMap(([one, messages]) =>
    one === key || one.startsWith(`${key}[`) ? messages : [],
  );

const Errors = ({ of }: Readonly<{ of: readonly string[] }>) => (
  <>
    {of.map((error) => (
      <p key={error} class="error" role="alert">
        {error}
      </p>
    ))}
  </>
);

/** The source of a value, and when a change takes effect. */
function Origin({ node, at }: Pick<NodeProps, "node" | "at">) {
  const found: GivenSetting | undefined = given.value[at];
  const from =
    found === undefined
      ? null
      : found.from === "file"
        ? s("line", { line: found.line })
        : s(found.from, { name: found.name ?? "" });
  const when = node.effect ? s(node.effect) : null;
  return <small>{[from, when].filter((one) => one !== null).join(" · ")}</small>;
}

type FrameProps = NodeProps & Readonly<{ children: ComponentChildren }>;

/** A field with its description, source and errors. */
function Frame({ node, at, pattern, children }: FrameProps) {
  const errors = node.type === "list" ? errorsIn(at) : errorsAt(at);
  const isChanged = Object.hasOwn(draft.value, at);
  const sentence = sentenceOf(pattern, node.description);
  return (
    <div class={`set${isChanged ? " changed" : ""}${errors.length > 0 ? " wrong" : ""}`}>
      {children}
      <Errors of={errors} />
      <small lang={sentence.isForeign ? "en" : undefined}>{sentence.text}</small>
      <Origin node={node} at={at} />
    </div>
  );
}

const shownDefault = ({ default: usual, example }: SettingNode): string => {
  if (usual === undefined) return example ?? "";
  return typeof usual === "string" || typeof usual === "number" || typeof usual === "boolean"
    ? String(usual)
    : JSON.stringify(usual);
};

/** Examples of names that people give, in the language of the page. */
const exampleNames = {
  "Air temperature": "example_sensor",
  "EC target": "example_parameter",
  East: "example_area",
  "East house": "example_house",
  "Left skylight": "example_skylight",
  "North farm": "example_farm",
} as const;

const isNamed = (example: string): example is keyof typeof exampleNames =>
  Object.hasOwn(exampleNames, example);

/** An example, marked so that it is not taken for the present value. */
function exampleOf({ example }: SettingNode): string {
  if (example === undefined || example.startsWith("!")) return "";
  return s("such_as", { value: isNamed(example) ? s(exampleNames[example]) : example });
}

const valueAt = (key: string): unknown =>
  Object.hasOwn(draft.value, key) ? draft.value[key] : given.value[key]?.value;

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

const guardSensor = "controllers.*.actuators.*.limits.guards.*.sensor";

function Single({ node, at, pattern }: NodeProps) {
  const label = labelOf(pattern, node.name);
  const value = textOf(valueAt(at));
  const usual = s("usual", { value: shownDefault(node) });
  const hasDefault = node.default !== undefined;
  if (node.type === "flag" || node.type === "choice") {
    const words = node.type === "flag" ? ["true", "false"] : (node.words ?? []).map(String);
    const shown = (word: string) =>
      node.type === "flag" ? s(word === "true" ? "yes" : "no") : choiceText(pattern, word);
    const none = hasDefault ? s("usual", { value: shown(shownDefault(node)) }) : "–";
    return (
      <Frame node={node} at={at} pattern={pattern}>
        <Choice
          label={label}
          value={value}
          options={[["", none], ...words.map((word) => [word, shown(word)] as const)]}
          onChange={({ currentTarget }) => put(at, parseTyped(node, currentTarget.value))}
        />
      </Frame>
    );
  }
  const isSecret = node.secret === true || given.value[at]?.isSecret === true;
  const sensors = pattern === guardSensor ? `sensors-of-${at.replace(/\W/g, "-")}` : null;
  return (
    <Frame node={node} at={at} pattern={pattern}>
      {sensors === null ? null : <Sensors id={sensors} at={at} />}
      <WithUnit at={at}>
        <Field
          label={label}
          {...(isSecret
            ? ({ type: "password" } as const)
            : ({
                inputMode: node.type === "number" ? "decimal" : "text",
                list: sensors ?? undefined,
              } as const))}
          autocomplete={isSecret ? "new-password" : "off"}
          spellcheck={false}
          value={value}
          placeholder={
            sensorNameAt(at, sensorNames.value) ??
            (isSecret && given.value[at] ? s("secret_kept") : hasDefault ? usual : exampleOf(node))
          }
          onInput={({ currentTarget }) => put(at, parseTyped(node, currentTarget.value))}
        />
      </WithUnit>
    </Frame>
  );
}

/** Suggests what a guard can look at. */
function Sensors({ id, at }: Readonly<{ id: string; at: string }>) {
  const [, code = ""] = partsOf(at);
  useEffect(() => void loadSensors(code), []);
  const weather = namesIn("weather", given.value, draft.value).map((name) => `weather/${name}`);
  return (
    <datalist id={id}>
      {Object.entries(shownSensors.value[code] ?? {}).map(([name, { label }]) => (
        <option key={name} value={name}>
          {label[language.value]}
        </option>
      ))}
      {weather.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

/** The unit in the file, or that with which a sensor is shown. */
function unitAt(key: string): string {
  const [, code = "", section, id = ""] = partsOf(key);
  const own = textOf(valueAt(key));
  return own === "" && section === "sensors" ? (shownSensors.value[code]?.[id]?.unit ?? "") : own;
}

/** A number with its unit. */
function WithUnit({ at, children }: Readonly<{ at: string; children: ComponentChildren }>) {
  const key = unitKey(at, (one) => textOf(valueAt(one)));
  const unit = key === null ? "" : unitAt(key);
  return unit === "" ? (
    <>{children}</>
  ) : (
    <span class="with-unit">
      {children} <span>{unit}</span>
    </span>
  );
}

const isInner = ({ type, keys, entry }: SettingNode): boolean =>
  type === "section" ||
  type === "map" ||
  (type === "list" && entry !== undefined && keys === undefined && isInner(entry));

/** A list of single values in one line. */
function Listing({ node, at, pattern }: NodeProps) {
  const { entry } = node;
  if (entry === undefined) return null;
  const shown = Object.hasOwn(draft.value, at) ? draft.value[at] : itemsOf(at, given.value);
  const value = Array.isArray(shown) ? shown.map(String).join(", ") : "";
  return (
    <Frame node={node} at={at} pattern={pattern}>
      <Field
        label={labelOf(pattern, node.name)}
        value={value}
        spellcheck={false}
        placeholder={s("several")}
        onChange={({ currentTarget }) => {
          const items = parseList(entry, currentTarget.value);
          put(at, items.length === 0 ? null : items);
        }}
      />
    </Frame>
  );
}

function Fold({
  name,
  note,
  isOpen,
  children,
}: Readonly<{ name: string; note?: string; isOpen: boolean; children: ComponentChildren }>) {
  // Closed parts are not rendered, as a house has hundreds of fields.
  const isSeen = useSignal(isOpen);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => (isSeen.value ||= currentTarget.open)}>
      <summary>
        {name} {note ? <small>{note}</small> : null}
      </summary>
      {isSeen.value ? <div class="body">{children}</div> : null}
    </details>
  );
}

type KeysProps = Readonly<{ keys: readonly SettingNode[]; at: string; pattern: Pattern }>;

/** Single fields side by side, further sections below them. */
function Keys({ keys: all, at, pattern }: KeysProps) {
  const keys = all.filter(({ name }) => !isElsewhere(`${pattern}.${name}`));
  const order = first[pattern];
  const of = (node: SettingNode) => (
    <Node key={node.name} node={node} at={inKey(at, node.name)} pattern={`${pattern}.${node.name}`} />
  );
  const isFirst = ({ name }: SettingNode) => order?.includes(name) ?? true;
  const flat = keys.filter((node) => !isInner(plain(node)));
  const upper =
    order === undefined ? flat : order.flatMap((name) => flat.filter((node) => node.name === name));
  const lower = flat.filter(
    (node) => !isFirst(node) && !isGiven(inKey(at, node.name), given.value, draft.value),
  );
  const others = flat.filter((node) => !upper.includes(node) && !lower.includes(node));
  return (
    <>
      <div class="fields">{[...upper, ...others].map(of)}</div>
      {keys.filter((node) => isInner(plain(node))).map(of)}
      {lower.length === 0 ? null : (
        <Fold name={s("more")} isOpen={false}>
          <div class="fields">{lower.map(of)}</div>
        </Fold>
      )}
    </>
  );
}

/** Of alternatives the most detailed is shown; a word or number can be typed in any of them. */
const plain = (node: SettingNode): SettingNode => {
  const inner = node.options?.find((option) => isInner(option));
  if (node.type !== "either" || inner === undefined) return node;
  return {
    ...inner,
    name: node.name,
    ...(node.description !== undefined && { description: node.description }),
  };
};

function Node({ node: whole, at, pattern }: NodeProps) {
  const node = plain(whole);
  if (node.type === "list" && !isInner(node)) return <Listing node={node} at={at} pattern={pattern} />;
  if (!isInner(node)) return <Single node={node} at={at} pattern={pattern} />;
  const isOpen = !pattern.includes(".");
  const sentence = sentenceOf(pattern, node.description);
  return (
    <Fold name={labelOf(pattern, node.name)} note={countNote(node, at)} isOpen={isOpen}>
      <small lang={sentence.isForeign ? "en" : undefined}>{sentence.text}</small>
      <Errors of={errorsAt(at)} />
      {whole.type === "either" ? (
        <Single node={{ ...whole, type: "either" }} at={at} pattern={pattern} />
      ) : null}
      {node.type === "section" ? <Keys keys={node.keys ?? []} at={at} pattern={pattern} /> : null}
      {node.type === "map" ? <Entries node={node} at={at} pattern={pattern} /> : null}
      {node.type === "list" ? <Items node={node} at={at} pattern={pattern} /> : null}
    </Fold>
  );
}

function countNote({ type }: SettingNode, at: string): string {
  const count =
    type === "map"
      ? namesIn(at, given.value, draft.value).length
      : type === "list"
        ? countIn(at, given.value, draft.value)
        : 0;
  return count === 0 ? "" : String(count);
}

/** The user's own names, with a field to add more. */
function Entries({ node, at, pattern }: NodeProps) {
  const name = useSignal("");
  const added = useSignal<readonly string[]>([]);
  const { entry, words } = node;
  if (entry === undefined) return null;
  const known = namesIn(at, given.value, draft.value);
  const [, code = ""] = partsOf(at);
  const isOfSensors = pattern === "controllers.*.sensors";
  useEffect(() => {
    if (isOfSensors) void loadSensors(code);
  }, []);
  const found =
    at === "controllers"
      ? Object.keys(mirrored.value)
      : isOfSensors
        ? Object.keys(sensorNames.value[code] ?? {})
        : [];
  const more = [...new Set([...found, ...added.value])];
  const left = more.filter((one) => !known.includes(one) && draft.value[inKey(at, one)] !== null);
  const names = inOrder([...known, ...left], orders.value[at]);
  const place = isOrdered(pattern) ? (one: string, by: number) => () => move(at, names, one, by) : undefined;
  const free = words?.map(String).filter((word) => !names.includes(word));
  const add = () => {
    if (name.value !== "") added.value = [...added.value, name.value];
    name.value = "";
  };
  const label = at === "controllers" ? s("code") : s("id");
  return (
    <>
      {names.map((one, nth) => (
        <Entry
          key={one}
          node={entry}
          at={inKey(at, one)}
          pattern={`${pattern}.*`}
          name={one}
          isNew={added.value.includes(one)}
        >
          {place === undefined || names.length < 2 ? null : (
            <>
              <Button act={place(one, -1)} disabled={nth === 0}>
                {s("move_up")}
              </Button>
              <Button act={place(one, 1)} disabled={nth === names.length - 1}>
                {s("move_down")}
              </Button>
            </>
          )}
        </Entry>
      ))}
      <div class="adding">
        {free === undefined ? (
          <Field label={label} bound={name} spellcheck={false} />
        ) : (
          <Choice
            label={s("new_name")}
            bound={name}
            options={[["", "–"], ...free.map((word) => [word, choiceText(pattern, word)] as const)]}
          />
        )}
        <Button act={add}>{s("add")}</Button>
      </div>
    </>
  );
}

/** `children`: further actions on the entry as a whole. */
type EntryProps = NodeProps & Readonly<{ name: string; isNew: boolean; children?: ComponentChildren }>;

function Entry({ node, at, pattern, name, isNew, children }: EntryProps) {
  const inner = plain(node);
  const own = textOf(valueAt(inKey(at, "name")));
  const [, code = ""] = partsOf(at);
  const shown =
    pattern === "controllers.*"
      ? mirrored.value[name]
      : pattern === "controllers.*.sensors.*"
        ? shownSensors.value[code]?.[name]?.label[language.value]
        : choiceText(pattern.replace(/\.\*$/, ""), name);
  const title = own !== "" ? own : shown === name ? "" : (shown ?? "");
  if (!isInner(inner))
    return (
      <div class="adding">
        <Node node={{ ...node, name }} at={at} pattern={pattern} />
        <Button act={() => takeOut(at)}>{s("remove")}</Button>
      </div>
    );
  return (
    <Fold name={title === "" ? name : title} note={title === "" ? "" : name} isOpen={isNew}>
      {inner.type === "section" ? <Keys keys={inner.keys ?? []} at={at} pattern={pattern} /> : null}
      {inner.type === "map" ? <Entries node={inner} at={at} pattern={pattern} /> : null}
      {inner.type === "list" ? <Items node={inner} at={at} pattern={pattern} /> : null}
      <div class="whole">
        {children}
        <Button act={() => takeOut(at)}>{s("remove")}</Button>
      </div>
    </Fold>
  );
}

/** A list of sections. */
function Items({ node, at, pattern }: NodeProps) {
  const added = useSignal(0);
  const { entry } = node;
  if (entry === undefined) return null;
  const known = countIn(at, given.value, draft.value);
  const places = Array.from(
    { length: Math.max(known, countIn(at, given.value, {}) + added.value) },
    (_, one) => one,
  );
  return (
    <>
      {places
        .filter((one) => draft.value[itemKey(at, one)] !== null)
        .map((one) => (
          <Entry
            key={one}
            node={entry}
            at={itemKey(at, one)}
            pattern={`${pattern}.*`}
            name={`${one + 1}`}
            isNew={one >= known}
          />
        ))}
      <div>
        <Button act={() => (added.value += 1)}>{s("add")}</Button>
      </div>
    </>
  );
}

/* Parts that have a form of their own. */

const users = "http.users";
const roles = ["viewer", "operator", "admin"] as const;

function Person({ at }: Readonly<{ at: number }>) {
  const key = itemKey(users, at);
  const name = textOf(valueAt(`${key}.username`));
  return (
    <Fold name={name === "" ? s("add_user") : name} note={s(roleOf(key))} isOpen={name === ""}>
      <PersonFields at={key} isNew={false} />
      <div>
        <Button act={() => takeOut(key)} disabled={name === session.value?.user}>
          {s("remove")}
        </Button>
      </div>
    </Fold>
  );
}

const roleOf = (key: string) => roles.find((role) => role === valueAt(`${key}.role`)) ?? "viewer";

/** The fields of a person; a new one is added to the list as a whole. */
function PersonFields({ at, isNew }: Readonly<{ at: string; isNew: boolean }>) {
  const held = (name: string): unknown => {
    const whole = draft.value[at];
    if (typeof whole === "object" && whole !== null && name in whole)
      return (whole as Record<string, unknown>)[name];
    return isNew ? undefined : valueAt(`${at}.${name}`);
  };
  const set = (name: string, value: string) => {
    if (!isNew) put(`${at}.${name}`, value);
    else
      draft.value = {
        ...draft.value,
        [at]: { role: "viewer", ...(draft.value[at] as object | undefined), [name]: value },
      };
  };
  const errors = ["", ".username", ".password", ".role"].flatMap((name) => errorsAt(`${at}${name}`));
  return (
    <>
      <div class="fields">
        <Field
          label={s("user")}
          value={textOf(held("username"))}
          autocomplete="off"
          onInput={({ currentTarget }) => set("username", currentTarget.value)}
        />
        <Choice
          label={s("role")}
          value={textOf(held("role")) || "viewer"}
          options={roles.map((role) => [role, s(role)] as const)}
          onChange={({ currentTarget }) => set("role", currentTarget.value)}
        />
        <Field
          label={s("password")}
          type="password"
          autocomplete="new-password"
          value={textOf(held("password"))}
          placeholder={isNew ? "" : s("secret_kept")}
          onInput={({ currentTarget }) => set("password", currentTarget.value)}
        />
      </div>
      <Errors of={errors} />
    </>
  );
}

function People({ keys }: Readonly<{ keys: readonly SettingNode[] }>) {
  const count = countIn(users, given.value, {});
  const next = itemKey(users, count);
  const isAdding = Object.hasOwn(draft.value, next);
  const [http] = nodesOf("people", keys);
  const others = http?.keys?.filter(({ name }) => name !== "users") ?? [];
  return (
    <>
      {count === 0 ? <p>{s("nobody")}</p> : null}
      {Array.from({ length: count }, (_, at) => at)
        .filter((at) => draft.value[itemKey(users, at)] !== null)
        .map((at) => (
          <Person key={at} at={at} />
        ))}
      <Errors of={errorsAt(users)} />
      {isAdding ? (
        <details open>
          <summary>{s("add_user")}</summary>
          <div class="body">
            <PersonFields at={next} isNew />
          </div>
        </details>
      ) : (
        <div>
          <Button act={() => (draft.value = { ...draft.value, [next]: { role: "viewer" } })}>
            {s("add_user")}
          </Button>
        </div>
      )}
      <Logins />
      <Keys keys={others} at="http" pattern="http" />
    </>
  );
}

function WholeFile({ of }: Readonly<{ of: SettingsDocument }>) {
  if (of.text === null) return <p>{s("holds_secrets")}</p>;
  const errors = Object.entries(proposal.value?.errors ?? {});
  return (
    <>
      <label class="field">
        <span>{of.file}</span>
        <textarea
          aria-label={s("whole_text")}
          spellcheck={false}
          value={text.value ?? of.text}
          onInput={({ currentTarget }) => {
            draft.value = {};
            orders.value = {};
            text.value = currentTarget.value === of.text ? null : currentTarget.value;
          }}
        />
      </label>
      {text.value === null
        ? null
        : errors.map(([key, messages]) => (
            <p key={key} class="error" role="alert">
              {key === "" ? "" : `${key}: `}
              {messages.join("; ")}
            </p>
          ))}
    </>
  );
}

const keyOf = (node: SettingNode | undefined, name: string): SettingNode | undefined =>
  node?.keys?.find((one) => one.name === name);

/** The limits of each actuator in the file. */
function LimitsOfActuators({ keys }: Readonly<{ keys: readonly SettingNode[] }>) {
  const controllers = keys.find(({ name }) => name === "controllers");
  const limits = keyOf(keyOf(controllers?.entry, "actuators")?.entry, "limits");
  if (limits === undefined) return null;
  const actuators = namesIn("controllers", given.value, draft.value).flatMap((code) => {
    const house = inKey("controllers", code);
    const all = inKey(house, "actuators");
    return namesIn(all, given.value, draft.value).map((id) => {
      const at = inKey(all, id);
      const named = (key: string, otherwise: string) => textOf(valueAt(inKey(key, "name"))) || otherwise;
      return { at: inKey(at, "limits"), name: `${named(house, code)} / ${named(at, id)}` };
    });
  });
  return (
    <Fold name={s("of_actuators")} note={String(actuators.length)} isOpen>
      {actuators.map(({ at, name }) => (
        <Fold
          key={at}
          name={name}
          note={isGiven(at, given.value, draft.value) ? s("limited") : ""}
          isOpen={false}
        >
          <Errors of={errorsAt(at)} />
          <Keys keys={limits.keys ?? []} at={at} pattern="controllers.*.actuators.*.limits" />
        </Fold>
      ))}
    </Fold>
  );
}

/* What is about to be saved. */

/** It can be scrolled with keys, as lines may be long. */
const DifferenceText = ({ of }: Readonly<{ of: string }>) => (
  <pre tabIndex={0} role="region" aria-label={s("differs")}>
    {of.split("\n").map((line, at) => (
      <span key={at} class={line.startsWith("+") ? "put" : line.startsWith("-") ? "out" : undefined}>
        {line}
        {"\n"}
      </span>
    ))}
  </pre>
);

function Saving({ isWritable }: Readonly<{ isWritable: boolean }>) {
  if (!hasChanges.value) return null;
  const shown = proposal.value;
  const errors = Object.values(shown?.errors ?? {}).flat().length;
  const count = text.value === null ? countOfChanges.value : 1;
  const sentences = [...(shown?.warnings ?? []), ...(shown?.sentences ?? [])];
  return (
    <div class="saving" role="region" aria-label={s("save")}>
      <div class="bar">
        <strong>
          {count === 1 ? s("one_change") : s("changes", { count })}
          {errors > 0 ? ` – ${s("has_errors", { count: errors })}` : ""}
        </strong>
        <Button act={discard}>{s("discard")}</Button>
        <Button
          class="primary"
          disabled={!isWritable || isSaving.value || shown === null || errors > 0}
          act={save}
        >
          {s(isSaving.value ? "saving" : isSavedAllTheSame.value ? "save_all_the_same" : "save")}
        </Button>
      </div>
      <Alert said={said} />
      {sentences.length === 0 ? null : (
        <ul>
          {sentences.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      )}
      {part.value === "connections" ? null : <Attempts />}
      {shown !== null && shown.secrets.length > 0 ? (
        <p>{s("secrets_too", { names: shown.secrets.join(", ") })}</p>
      ) : null}
      {shown !== null && shown.difference !== "" ? (
        <details open={!isWritable || said.value !== null}>
          <summary>{s("differs")}</summary>
          <DifferenceText of={shown.difference} />
        </details>
      ) : null}
    </div>
  );
}

function show(name: typeof part.value): void {
  part.value = name;
  if (!hasChanges.value) said.value = null;
}

function Part({ of }: Readonly<{ of: SettingsDocument }>) {
  const { keys } = of;
  if (part.value === "file") return <WholeFile of={of} />;
  if (part.value === "people") return <People keys={keys} />;
  return (
    <>
      {part.value === "connections" ? <Tries /> : null}
      {nodesOf(part.value, keys).map((node) => (
        <Node key={`${part.value} ${node.name}`} node={node} at={node.name} pattern={node.name} />
      ))}
      {part.value === "greenhouses" ? <FoundThings /> : null}
      {part.value === "messages" ? <MessageTest /> : null}
      {part.value === "computer" ? <ProgramPart of={of} /> : null}
      {part.value === "limits" ? <LimitsOfActuators keys={keys} /> : null}
    </>
  );
}

function Notices({ of: { not_writable: reason, returned } }: Readonly<{ of: SettingsDocument }>) {
  return (
    <>
      {reason === null ? null : (
        <div class="notice warn">
          <p>{s("not_writable")}</p>
          <p>
            <Told text={reason} />
          </p>
        </div>
      )}
      {returned === null ? null : (
        <div class="notice bad">
          <p>
            {s(returned.by_hand === true ? "not_in_force" : "returned", {
              at: new Date(returned.at).toLocaleString(),
              reason: String(returned.reason),
            })}
          </p>
          {returned.difference === "" ? null : <DifferenceText of={returned.difference} />}
        </div>
      )}
    </>
  );
}

export default function Settings() {
  useEffect(() => void load(), []);
  const shown = settings.value;
  if (isMissing.value) return <p class="notice plain">{s("not_here")}</p>;
  if (shown === null) return <Loading />;
  return (
    <>
      <Head name={s("settings")} />
      <div class="parts" role="group" aria-label={s("settings")}>
        {partNames.map((name) => (
          <Button key={name} aria-pressed={part.value === name} act={() => show(name)}>
            {s(name)}
          </Button>
        ))}
      </div>
      <div class="settings">
        <Notices of={shown} />
        <p>{s(`what_${part.value}`)}</p>
        {hasChanges.value ? null : <Alert said={said} />}
        <Part key={part.value} of={shown} />
      </div>
      <Saving isWritable={shown.not_writable === null} />
    </>
  );
}
