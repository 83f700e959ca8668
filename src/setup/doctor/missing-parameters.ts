import { PlatformError, type DeviceRecord, type Query } from "../../greenhouse/ports.js";
import { fillIn } from "../../platform/operations.js";
import type { OperationShape } from "../../platform/settings.js";
import { zoneOffset } from "../../runtime/zone.js";
import { ask, type DoctorContext, type RawAnswer } from "./context.js";

/*
 * The interface document names few query parameters. A platform may need a device, a time span or a page size under
 * names of its own, which only its refusal reveals. The question is asked again with these names, so that the advice is
 * known to work.
 */

/** How refusals say that something is missing. */
const saysMissing = new RegExp(
  "缺|不能为|不可为|不得为|必填|必传|为空|未传|未填|请(?:输入|选择|传入|填写|提供|指定)|" +
    "missing|lack|requir|not (?:present|provided|given|set)|not be (?:null|blank|empty)|" +
    "is (?:null|blank|empty|undefined)|expect|need|specify|provide",
  "i",
);

const inQuotes = /['"`‘“「『【[]([A-Za-z_]\w{0,40})['"`’”」』】\]]/g;
const wordsIn = /(?<![\w.])[A-Za-z_]\w{0,40}(?!\w|\.\w)/g;

/** Words around a parameter's name that are no names. */
const around: ReadonlySet<string> = new Set(
  (
    "required request query string parameter parameters param params field fields argument arguments missing miss misses " +
    "lack lacks lacking is are was not no present provided given set absent must be may can cannot could should null blank empty " +
    "none undefined for method of type integer int long double date datetime localdatetime localdate number the a an in on at " +
    "with and or to from please provide specify expected expects expect need needs value values invalid error code bad illegal " +
    "format valid validation failed failure exception message http status uri url get post api this that your it has have"
  ).split(" "),
);
const types: ReadonlySet<string> = new Set(
  "string integer int long double date localdatetime localdate".split(" "),
);

/** The parameters that a refusal names as missing, the most likely first. */
export function missingNames(message: string): readonly string[] {
  if (!saysMissing.test(message)) return [];
  const quoted = Array.from(message.matchAll(inQuotes), ([, name = ""]) => name);
  const named = quoted.filter((name) => !types.has(name.toLowerCase()));
  if (named.length > 0) return [...new Set(named)];
  const free = Array.from(message.matchAll(wordsIn), ([name]) => name).filter(
    (name) => !around.has(name.toLowerCase()) && !/(?:Exception|Error)$/.test(name),
  );
  const compound = free.filter((name) => /[a-z0-9][A-Z]|_/.test(name));
  return [...new Set(compound.length > 0 ? compound : free)];
}

/** Values for parameters in `platform.shapes`, by words of their names; the first row with one of the words counts. */
const meanings: readonly (readonly [value: string, words: string])[] = [
  ["{since}", "start begin from since starttime startdate begintime begindate stime sdate"],
  ["{until}", "end to until till finish endtime enddate etime edate finishtime"],
  ["500", "size pagesize limit rows perpage"],
  ["1", "page pageno pagenum pageindex current"],
  // Questions for a fresh read set this themselves.
  ["0", "flush"],
  [
    "{deviceCode}",
    "device devicecode devicesn dev devcode code sn imei equipment facility controller terminal",
  ],
];

const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_]+/);

/** Null if the name does not say it. */
export function meaningOf(name: string): string | null {
  const own = wordsOf(name);
  const row = meanings.find(([, words]) => words.split(" ").some((word) => own.includes(word)));
  return row?.[0] ?? null;
}

/** A value that all devices of the account share, which a platform may want to get back. */
function saidByAll(devices: readonly DeviceRecord[], name: string): string | null {
  const values = new Set(
    devices.map(({ stationId, extra }) => (name === "stationId" ? stationId : (extra[name] ?? null))),
  );
  const [value = null] = values;
  return values.size === 1 && /^(?:customer|station)Id$/.test(name) ? value : null;
}

/** Spellings for the ends of the last day; the usual one comes first. */
const forms = ["", ":iso", ":date", ":ms", ":s"] as const;
const mostNames = 6;
const dayMs = 24 * 3_600_000;

/** The parameters that were finally used, as `platform.shapes` has them. */
interface AskedWith {
  readonly answer: RawAnswer;
  readonly line: Pick<OperationShape, "query" | "params">;
}

export interface Repetition {
  readonly answered: AskedWith | null;
  /** Parameters named as missing that nobody here has a value for. */
  readonly open: readonly string[];
}

type Params = Readonly<Record<string, string>>;

interface Named {
  readonly operation: string;
  readonly asked: Query;
  readonly params: Params;
}

/** Asks again with the parameters that each refusal names, until it is answered or names no more. */
export async function askAgain(
  { operation, asked }: Omit<Named, "params">,
  refusal: unknown,
  context: DoctorContext,
  signal: AbortSignal,
): Promise<Repetition> {
  let params: Params = {};
  let last = refusal;
  const tried = async (given: Params): Promise<AskedWith | null> => {
    const query = { ...asked, ...fillAll(given, asked, context) };
    try {
      return { answer: await ask(context, operation, query, signal), line: lineOf(given) };
    } catch (error) {
      if (!(error instanceof PlatformError) || signal.aborted) throw error;
      last = error;
      return null;
    }
  };
  for (let names = 0; names < mostNames; names += 1) {
    const named = namedBy(last).filter((name) => !Object.hasOwn(params, name) && !Object.hasOwn(asked, name));
    const added = named.flatMap((name) => {
      const value = valueFor(name, { operation, asked, params }, context);
      return value === null ? [] : [[name, value] as const];
    });
    const [first] = added;
    if (first === undefined) return { answered: await inOtherForms(params, tried), open: named };
    params = { ...params, [first[0]]: first[1] };
    const answered = await tried(params);
    if (answered !== null) return { answered, open: [] };
  }
  return { answered: null, open: [] };
}

const namedBy = (refusal: unknown): readonly string[] =>
  refusal instanceof PlatformError ? missingNames(refusal.facts.platformMessage ?? "") : [];

/** The one operation about a device whose parameter for it the interface does not name: it may be any word. */
const namesNoDevice = "sensor-data";

function valueFor(
  name: string,
  { operation, asked, params }: Named,
  { evidence }: DoctorContext,
): string | null {
  const fixed = saidByAll(evidence.controllers, name);
  if (fixed !== null) return fixed;
  const isOpen = operation === namesNoDevice && !Object.values(params).includes("{deviceCode}");
  const meaning = meaningOf(name) ?? (isOpen ? "{deviceCode}" : null);
  return meaning === "{deviceCode}" && asked["deviceCode"] === undefined ? null : meaning;
}

/** All names are given and it is refused all the same, so the ends of the span may need another spelling. */
async function inOtherForms(
  params: Params,
  tried: (given: Params) => Promise<AskedWith | null>,
): Promise<AskedWith | null> {
  const inForm = (form: string): Params =>
    Object.fromEntries(
      Object.entries(params).map(([name, value]) => [
        name,
        value.replace(/^\{(since|until)\}$/, (_, end: string) => `{${end}${form}}`),
      ]),
    );
  if (!Object.values(params).some((value) => value === "{since}" || value === "{until}")) return null;
  for (const form of forms.slice(1)) {
    const answered = await tried(inForm(form));
    if (answered !== null) return answered;
  }
  return null;
}

function fillAll(params: Params, asked: Query, { configuration, ports }: DoctorContext): Params {
  const until = ports.clock.now();
  const offset = zoneOffset(configuration.platform.time_zone);
  const window = { since: until - dayMs, until, offset };
  const device = asked["deviceCode"] ?? "";
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, fillIn(value, device, window)]),
  );
}

/** A device under another name is a renamed parameter; all others are added. */
function lineOf(params: Params): AskedWith["line"] {
  const device = Object.entries(params).find(([, value]) => value === "{deviceCode}");
  const rest = Object.entries(params).filter(([, value]) => value !== "{deviceCode}");
  return {
    ...(device !== undefined && { query: { deviceCode: device[0] } }),
    ...(rest.length > 0 && { params: Object.fromEntries(rest) }),
  };
}
