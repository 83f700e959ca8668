/*
 * The Supervisor's rules for an app's config.yaml, options and translations, as far as they can be told without a
 * Supervisor. It drops keys it does not know; here they are mistakes.
 */

type Fields = Readonly<Record<string, unknown>>;
type SchemaElement = string | readonly (string | Schema)[] | Schema;
export interface Schema {
  readonly [option: string]: SchemaElement;
}

const required = ["name", "version", "slug", "description", "arch"];
/** Those that the Supervisor knows and an app like ours may come to need. */
const optional = (
  "machine url startup webui boot ports ports_description host_network devices homeassistant hassio_role hassio_api " +
  "homeassistant_api apparmor map environment options schema image timeout tmpfs discovery services auth_api ingress " +
  "ingress_port ingress_entry ingress_stream panel_icon panel_title panel_admin backup backup_exclude stage init " +
  "watchdog breaking_versions"
).split(" ");
const folders = ["homeassistant_config", "addon_config", "ssl", "addons", "backup", "share", "media", "data"];

const words: Readonly<Record<string, readonly string[]>> = {
  startup: ["initialize", "system", "services", "application", "once"],
  boot: ["auto", "manual", "manual_only"],
  stage: ["stable", "experimental", "deprecated"],
  backup: ["hot", "cold"],
};

const elementType =
  /^(bool|email|url|port|device(\(subsystem=[a-z]+\))?|(str|password|int)(\((\d+)?,(\d+)?\))?|float(\([\d.]*,[\d.]*\))?|match\(.*\)|list\(.+\))\??$/;

export function addonProblems(addon: unknown): readonly string[] {
  const fields = fieldsOf(addon);
  const schema = fieldsOf(fields["schema"]) as Schema;
  return [
    ...required.filter((key) => fields[key] === undefined).map((key) => `${key} is missing`),
    ...Object.keys(fields)
      .filter((key) => !required.includes(key) && !optional.includes(key))
      .map((key) => `${key}: the Supervisor does not know it`),
    ...(/^[-_.A-Za-z0-9]+$/.test(String(fields["slug"])) ? [] : ["slug: not a slug"]),
    ...listOf(fields["arch"])
      .filter((arch) => arch !== "aarch64" && arch !== "amd64")
      .map((arch) => `arch: ${String(arch)}`),
    ...Object.entries(words).flatMap(([key, known]) =>
      fields[key] === undefined || known.some((word) => word === fields[key])
        ? []
        : [`${key}: not a word it knows`],
    ),
    ...listOf(fields["services"])
      .filter((service) => !/^(mqtt|mysql):(provide|want|need)$/.test(String(service)))
      .map((service) => `services: ${String(service)}`),
    ...listOf(fields["map"]).flatMap((entry) => {
      const { type } = fieldsOf(entry);
      return folders.includes(String(type)) ? [] : [`map: ${String(type)}`];
    }),
    ...timeoutProblems(fields["timeout"]),
    ...Object.entries(schema).flatMap(([option, element]) => elementProblems(`schema.${option}`, element, 0)),
    ...defaultProblems(fieldsOf(fields["options"]), schema),
  ];
}

const timeoutProblems = (timeout: unknown): readonly string[] =>
  timeout === undefined || (typeof timeout === "number" && timeout >= 10 && timeout <= 300)
    ? []
    : ["timeout: 10 to 300 seconds"];

/** Lists and sections may be nested two deep. */
function elementProblems(at: string, element: SchemaElement, depth: number): readonly string[] {
  if (typeof element === "string") return elementType.test(element) ? [] : [`${at}: not a type: ${element}`];
  if (depth === 2) return [`${at}: nested too deep`];
  if (isList(element)) return element.flatMap((inner) => elementProblems(`${at}[]`, inner, depth + 1));
  return Object.entries(element).flatMap(([key, inner]) => elementProblems(`${at}.${key}`, inner, depth));
}

/** A default makes an optional option required; null asks the user for a value. */
function defaultProblems(defaults: Fields, schema: Schema): readonly string[] {
  return Object.entries(defaults).flatMap(([option, value]) => {
    const element = schema[option];
    if (element === undefined) return [`options.${option}: not in the schema`];
    if (typeof element === "string" && element.endsWith("?")) return [`options.${option}: has a default`];
    return value === null ? [] : valueProblems(`options.${option}`, element, value);
  });
}

/** What the Supervisor would say to these options. */
export const optionProblems = (options: Fields, schema: Schema): readonly string[] =>
  Object.entries(schema).flatMap(([option, element]) => valueProblems(option, element, options[option]));

function valueProblems(at: string, element: SchemaElement, value: unknown): readonly string[] {
  if (typeof element === "string") return textProblems(at, element, value);
  if (isList(element)) {
    const [inner] = element;
    if (!Array.isArray(value) || inner === undefined) return [`${at}: no list`];
    return value.flatMap((one: unknown) => valueProblems(`${at}[]`, inner, one));
  }
  const fields = fieldsOf(value);
  return Object.entries(element).flatMap(([key, inner]) => valueProblems(`${at}.${key}`, inner, fields[key]));
}

function textProblems(at: string, type: string, value: unknown): readonly string[] {
  if (value === undefined || value === null) return type.endsWith("?") ? [] : [`${at}: missing`];
  const bare = type.replace(/\?$/, "");
  if (bare === "bool") return typeof value === "boolean" ? [] : [`${at}: not true or false`];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const list = /^list\((.+)\)$/.exec(bare)?.[1];
  if (list !== undefined) return list.split("|").includes(text) ? [] : [`${at}: not one of ${list}`];
  const pattern = /^match\((.*)\)$/.exec(bare)?.[1];
  if (pattern !== undefined)
    return new RegExp(pattern).test(text) ? [] : [`${at}: does not match ${pattern}`];
  if (bare === "url") return URL.canParse(text) ? [] : [`${at}: not a URL`];
  return [];
}

export function translationProblems(translation: unknown, schema: Schema): readonly string[] {
  const { configuration, ...others } = fieldsOf(translation);
  return [
    ...Object.keys(others).map((key) => `${key}: not used`),
    ...namesFor("", fieldsOf(configuration), schema),
  ];
}

function namesFor(at: string, named: Fields, schema: Schema): readonly string[] {
  const strangers = Object.keys(named).filter((key) => schema[key] === undefined);
  return [
    ...strangers.map((key) => `${at}${key}: no such option`),
    ...Object.entries(schema).flatMap(([option, element]) => {
      const { name, description, fields, ...others } = fieldsOf(named[option]);
      const inner = isList(element) ? element[0] : element;
      const isText = (text: unknown) => typeof text === "string" && text.trim() !== "";
      return [
        ...(isText(name) ? [] : [`${at}${option}: no name`]),
        ...(description === undefined || isText(description) ? [] : [`${at}${option}: empty description`]),
        ...Object.keys(others).map((key) => `${at}${option}.${key}: not used`),
        ...(typeof inner === "object" ? namesFor(`${at}${option}.`, fieldsOf(fields), inner) : []),
      ];
    }),
  ];
}

const isList = (element: SchemaElement): element is readonly (string | Schema)[] => Array.isArray(element);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
