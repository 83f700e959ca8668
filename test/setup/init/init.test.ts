import { getEventListeners } from "node:events";
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Speech } from "../../../src/terminal/speech.js";
import { loadConfiguration, withTexts } from "../../../src/config/load.js";
import { msg, type Text } from "../../../src/language/text.js";
import type { Tell } from "../../../src/language/words.js";
import { type Clock, systemClock } from "../../../src/runtime/clock.js";
import { type Answers, type Credential, firstFiles, secretLines } from "../../../src/setup/init/answers.js";
import { tryParts, writeFirstConfiguration } from "../../../src/setup/init/init.js";
import {
  addLines,
  FileExists,
  mustTakeFiles,
  secretNames,
  writeNew,
} from "../../../src/setup/init/new-file.js";
import { type Dialogue, GoneAway, terminalDialogue } from "../../../src/setup/init/questions.js";
import { formatProblem } from "../../../src/settings/problem.js";
import { fileWith, folder, greenhouse2mqtt } from "../../cli/in-process.js";
import { testBroker } from "../../mqtt-connection/support.js";
import { running } from "../../simulator/running.js";
import { inChinese } from "../../support/chinese.js";
import { freePort } from "../../support/mosquitto.js";

const token = "canary-token-81cc02";
const password = "canary-password-2277fa";

const platform = (auth: object = {}) => running({ controllers: 2, auth: { tokens: "known", ...auth } });

/** Answers questions by what they ask; each pattern's answers are used in turn, the last one again and again; none is Enter alone. */
function person(
  answers: readonly (readonly [RegExp, ...string[]])[],
): Dialogue & { readonly said: string[] } {
  const said: string[] = [];
  const queues = answers.map(([pattern, ...given]) => ({ pattern, given: [...given] }));
  const typed = (question: string): string | undefined => {
    const queue = queues.find(({ pattern }) => pattern.test(question));
    if (said.length > 300) throw new Error(`asked again and again: ${question}`);
    said.push(`> ${question}`);
    return queue && ((queue.given.length > 1 ? queue.given.shift() : queue.given[0]) ?? "");
  };
  /** As a terminal does: what does not pass is objected to, and asked again. */
  const until = (question: Text, judge: (answer: string) => Text | null, suggestion = ""): string => {
    for (;;) {
      const words = typed(String(question));
      if (words === undefined && suggestion === "") throw new Error(`nobody answers: ${String(question)}`);
      const answer = words === undefined || words === "" ? suggestion : words;
      const objection = judge(answer);
      if (objection === null) return answer;
      said.push(String(objection));
    }
  };
  const soon = <T>(answer: () => T) => new Promise<T>((resolve) => resolve(answer()));
  return {
    said,
    say: (words) => said.push(String(words)),
    ask: (question, judge, suggestion) => soon(() => until(question, judge, suggestion)),
    secret: (question, judge) => soon(() => until(question, judge)),
    choose: (question, options, before) =>
      soon(() => {
        const number = typed(String(question));
        const chosen = number ? options[Number(number) - 1] : options.find(([word]) => word === before);
        return (chosen ?? options[0])?.[0] ?? unanswered(String(question));
      }),
    confirm: (question, before) =>
      soon(() => {
        const words = typed(String(question));
        return words ? words === "y" : before;
      }),
  };
}

const unanswered = (question: string): never => {
  throw new Error(`nothing to choose: ${question}`);
};

/** An account of the bridge at a broker, with the rights that it needs. */
const bridge = { username: "bridge", password, publish: ["#"], subscribe: ["#"] };

/** A broker of this machine answers in time also where the machine is busy. */
const patient: Clock = { ...systemClock, wait: (ms, signal) => systemClock.wait(20 * ms, signal) };

/** What comes of an `init` in a folder of its own with this person at the terminal; `told` is all that was said, `over` how it ended. */
async function asked(answers: Parameters<typeof person>[0], brokers: readonly string[] = []) {
  const home = await folder();
  const file = join(home, "config.yaml");
  const dialogue = person(answers);
  const said: string[] = [];
  const stop = new AbortController().signal;
  const ports = { clock: patient, random: () => 0.5, env: {}, stop, dialogue, brokers, speech: new Speech() };
  const over = await writeFirstConfiguration(file, {
    ...ports,
    say: (text) => said.push(String(text)),
  }).catch((error: unknown) => error);
  return { home, file, over, told: [...dialogue.said, ...said] };
}

const loaded = async (file: string) => {
  const result = await loadConfiguration(file, { env: { GREENHOUSE_TOKEN: "token" } });
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result;
};

describe("asking", () => {
  it("finds the broker of this computer, tries everything and writes two files that pass check", async () => {
    const simulator = await platform({ accepted: [token] });
    const broker = await testBroker({ users: [bridge] });
    const { home, file, told } = await asked(
      [
        [/Business host/, simulator.businessUrl],
        [/Realtime host/, simulator.realtimeUrl],
        [/^Token/, token],
        [/User name at the broker/, "bridge"],
        [/Its password/, password],
      ],
      [`mqtt://127.0.0.1:${await freePort()}`, broker.url],
    );
    const { configuration, warnings } = await loaded(file);
    expect(warnings).toEqual([]);
    expect(configuration.platform).toMatchObject({ business_url: simulator.businessUrl, token });
    expect(configuration.mqtt).toMatchObject({ url: broker.url, username: "bridge", password });
    expect(told.join("\n")).toMatch(/lists 2 controllers[^]*realtime host answers[^]*lets us in/);
    expect(told.join("\n")).toMatch(/greenhouse2mqtt doctor[^]*greenhouse2mqtt discover/);
    expect((await readdir(home)).sort()).toEqual(["config.yaml", "secrets.yaml"]);
    for (const name of await readdir(home)) expect((await stat(join(home, name))).mode & 0o777).toBe(0o600);
    for (const canary of [token, password])
      expect(told.join("\n") + (await readFile(file, "utf8"))).not.toContain(canary);
  });

  it("tries of the broker what the settings try: whether the bridge may publish and subscribe there", async () => {
    const simulator = await platform({ accepted: [token] });
    const broker = await testBroker({ users: [{ ...bridge, subscribe: [] }] });
    const url = broker.url;
    const { home, over, told } = await asked(
      [
        [/ host,/, simulator.businessUrl],
        [/^Token/, token],
        [/User name at the broker/, "bridge"],
        [/Its password/, password],
        [/That did not work/, "3"],
      ],
      [url],
    );
    expect(over).toBeInstanceOf(GoneAway);
    const secret = { from: "secrets", text: token } as const;
    const result = await read({
      platform: hosts({ token: secret }),
      mqtt: { url, username: "bridge", password: { from: "secrets", text: password } },
    });
    if (!result.ok) throw new Error("no configuration");
    const findings: string[] = [];
    const ports = { clock: patient, random: () => 0.5 };
    for await (const finding of tryParts(
      result.configuration,
      ["broker"],
      ports,
      new AbortController().signal,
    )) {
      findings.push(`${finding.check} ${finding.status}`);
      expect(told.join("\n")).toContain(String(finding.summary));
    }
    expect(findings).toEqual(["broker ok", "broker.publish ok", "broker.subscribe failed"]);
    expect(await readdir(home)).toEqual([]);
  });

  it("answering again keeps every answer that is not typed anew, the hidden ones as well", async () => {
    const { businessUrl, realtimeUrl } = await platform({ signIn: { account: "me", password } });
    const broker = await testBroker({ users: [bridge] });
    const enter = "";
    const answers: Parameters<typeof person>[0] = [
      [/Business host/, businessUrl, enter],
      [/Realtime host/, realtimeUrl, enter],
      [/How does the bridge/, "4", enter],
      [/^Account$/, "them", "me"],
      [/^Password$/, password, enter],
      [/Which broker/, "3", enter],
      [/Its address/, broker.url, enter],
      [/user name and password\?/, "y", enter],
      [/User name at the broker/, "bridge", enter],
      [/Its password/, "wrong", password],
      [/That did not work/, "1"],
    ];
    const { home, file, told } = await asked(answers, [broker.url]);
    const { configuration } = await loaded(file);
    // The trial left no token behind.
    expect((await readdir(home)).sort()).toEqual(["config.yaml", "secrets.yaml"]);
    expect(configuration.platform.business_url).toBe(businessUrl);
    expect(configuration.platform.sign_in?.body).toEqual({ account: "me", password });
    expect(configuration.mqtt).toMatchObject({ url: broker.url, username: "bridge", password });
    expect(told.filter((line) => /^> Business host/.test(line))).toHaveLength(2);
    expect(told.filter((line) => line.includes("Enter keeps the one given"))).toHaveLength(2);
    expect(told.join("\n")).toMatch(
      /code 401, [^]*; check the account and password[^]*refused the user name or password; check mqtt\.username/,
    );
  });

  it("opens the page to phones only with a login, whose password is kept as a hash", async () => {
    const { file, told } = await asked([
      [/ host,/, "https://a.example"],
      [/How does the bridge/, "2"],
      [/^Phones and other computers/, "y"],
      [/^Your name on the page/, "anna"],
      [/^Your password there/, "short", "sunflowers in a row"],
      [/^The same again/, "sunflowers in a column", "sunflowers in a row"],
    ]);
    const { configuration, warnings } = await loaded(file);
    expect(warnings).toEqual([]);
    expect(configuration.http).toMatchObject({
      host: "0.0.0.0",
      users: [{ username: "anna", password: expect.stringMatching(/^scrypt:/) as string, role: "admin" }],
    });
    expect(told.join("\n")).toMatch(/shorter than 12[^]*two different passwords/);
  });

  it("shows the suggested limits as numbers, and writes them only where they are wanted", async () => {
    const answers: Parameters<typeof person>[0] = [
      [/ host,/, "https://a.example"],
      [/How does the bridge/, "2"],
    ];
    const without = await asked(answers);
    expect(without.told.join("\n")).toMatch(
      /temperature: below 5 a warning, below 2 an error, above 35 a warning, above 40 an error, after 10m/,
    );
    expect((await loaded(without.file)).configuration.alarms).toEqual({});
    const { file } = await asked([...answers, [/^Begin with these limits/, "y"]]);
    const { configuration, warnings } = await loaded(file);
    expect(warnings).toEqual([]);
    expect(configuration.alarms.temperature).toEqual({
      low_low: 2,
      low: 5,
      high: 35,
      high_high: 40,
      delay: 600_000,
    });
  });

  it("goes on in the language that is chosen first, and writes it", async () => {
    const { file, told } = await asked([
      [/^Language/, "2"],
      [/ host,/, "https://a.example"],
      [/How does the bridge/, "2"],
    ]);
    expect(await readFile(file, "utf8")).toMatch(/^language: zh$/m);
    expect(told[0]).toBe("> Language / 语言  (↑ ↓ Enter)");
  });

  it("exchanges the two hosts where they were swapped, without asking for anything again", async () => {
    const auth = { tokens: "known", accepted: [token] } as const;
    const { businessUrl, realtimeUrl } = await running({ controllers: 2, realtimePort: 0, auth });
    const { file, told } = await asked([
      [/Business host/, realtimeUrl],
      [/Realtime host/, businessUrl],
      [/^Token/, token],
      [/That did not work/, "1"],
    ]);
    const { configuration } = await loaded(file);
    expect(configuration.platform).toMatchObject({ business_url: businessUrl, realtime_url: realtimeUrl });
    expect(told.filter((line) => line.startsWith("> Business host"))).toHaveLength(1);
    expect(told.filter((line) => line.includes("the two hosts are swapped"))).toHaveLength(1);
    expect(told.join("\n")).toMatch(/lists 2 controllers/);
  });

  it("writes nothing when the person stops after a failed trial, which names the question and no key", async () => {
    const simulator = await platform({ accepted: [token] });
    const { home, over, told } = await asked([
      [/ host,/, simulator.businessUrl],
      [/^Token/, "wrong-token"],
      [/That did not work/, "3"],
    ]);
    expect(over).toBeInstanceOf(GoneAway);
    // The question's words: there is no file yet that has the key.
    expect(told.join("\n")).toMatch(/the token is missing, wrong or expired \(check the token\)/);
    expect(await readdir(home)).toEqual([]);
  });

  it("a name alone means https, and what is no address is asked again", async () => {
    const { file } = await asked([
      [/Business host/, "ftp://a", "business.example.com/"],
      [/Realtime host/, "https://realtime.example.com"],
      [/How does the bridge/, "2"],
    ]);
    const written = await readFile(file, "utf8");
    expect(written).toMatch(/business_url: https:\/\/business\.example\.com\n/);
    expect(written).toMatch(/token: !env GREENHOUSE_TOKEN\n/);
  });

  it("refuses before the first question where a configuration is there", async () => {
    const { file } = await asked([
      [/ host,/, "https://a.example"],
      [/How does the bridge/, "2"],
    ]);
    const before = await readFile(file, "utf8");
    const dialogue = person([]);
    const unused = { clock: patient, random: () => 0, env: {}, stop: AbortSignal.abort(), brokers: [] };
    const speech = new Speech();
    const run = writeFirstConfiguration(file, { ...unused, speech, dialogue, say: () => undefined });
    await expect(run).rejects.toThrow(/exists already and is never overwritten/);
    expect(dialogue.said).toEqual([]);
    expect(await readFile(file, "utf8")).toBe(before);
  });
});

describe("a terminal", () => {
  function terminal(tell: Tell = String) {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
    let shown = "";
    const output = { write: (text: string) => (shown += text) };
    const stop = new AbortController();
    const dialogue = terminalDialogue({ input, output, stop: stop.signal, tell });
    return { input, stop, dialogue, shown: () => shown };
  }
  const any = () => null;

  it("shows what is typed, but not a secret, and takes the suggestion for Enter", async () => {
    const { input, dialogue, shown } = terminal();
    const name = dialogue.ask("Name", any);
    input.write("visible\r");
    expect(await name).toBe("visible");
    const secret = dialogue.secret("Token", any);
    for (const character of `${token}\r`) input.write(character);
    expect(await secret).toBe(token);
    const after = dialogue.ask("Again", any, "suggested");
    input.write("\r");
    expect(await after).toBe("suggested");
    expect(shown()).toContain("visible");
    expect(shown()).not.toContain(token.slice(0, 6));
    expect(shown()).toContain("suggested");
  });

  it("asks until the answer passes, and says why it did not", async () => {
    const { input, dialogue, shown } = terminal();
    const asked = dialogue.ask("Number", (answer) => (/^\d+$/.test(answer) ? null : "digits are wanted"));
    for (const keys of ["no\r", "\u0015", "7\r"]) input.write(keys);
    expect(await asked).toBe("7");
    expect(shown()).toContain("digits are wanted");
  });

  it("offers a choice with the earlier one first, and a question of yes or no", async () => {
    const { input, dialogue } = terminal();
    const words = (["one", "two", "three"] as const).map((word) => [word, `number ${word}`] as const);
    const chosen = dialogue.choose("Which?", words, "two");
    input.write("\r");
    expect(await chosen).toBe("two");
    const next = dialogue.choose("Which?", words, "two");
    for (const key of ["\u001b[B", "\r"]) input.write(key);
    expect(await next).toBe("three");
    const agreed = dialogue.confirm("Sure?", false);
    input.write("\r");
    expect(await agreed).toBe(false);
  });

  it("leaves nothing on the signal of the program after many questions", async () => {
    const { input, stop, dialogue } = terminal();
    for (let times = 0; times < 12; times += 1) {
      const asked = dialogue.ask("Name", any);
      input.write("a\r");
      await asked;
    }
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it("has no English word of its own in Chinese", async () => {
    const { input, dialogue: chinese, shown } = terminal(inChinese);
    const chosen = chinese.choose(msg`Which broker?`, [["other", msg`another one`]]);
    input.write("\r");
    await chosen;
    const agreed = chinese.confirm(msg`Does it want a user name and password?`, true);
    input.write("\r");
    await agreed;
    expect(stripVTControlCharacters(shown()).replaceAll("MQTT", "")).not.toMatch(/[a-z]{2}/i);
  });

  it.each([
    ["the end of input", ({ input }: ReturnType<typeof terminal>) => input.end()],
    ["Ctrl-C", ({ input }: ReturnType<typeof terminal>) => input.write("\u0003")],
    ["Ctrl-D", ({ input }: ReturnType<typeof terminal>) => input.write("\u0004")],
    ["the end of the program", ({ stop }: ReturnType<typeof terminal>) => stop.abort()],
  ])("%s ends a question, also that for a secret", async (_, leave) => {
    const here = terminal();
    const waiting = here.dialogue.secret("Token", any);
    leave(here);
    await expect(waiting).rejects.toBeInstanceOf(GoneAway);
  });
});

it("without a terminal nothing is asked: it says which answers are missing, and ends with 2", async () => {
  const home = await folder();
  const { code, err } = await greenhouse2mqtt(["init", "-c", join(home, "c.yaml")]);
  expect(code).toBe(2);
  expect(err).toContain("platform.business_url is missing (--business-url)");
  expect(await readdir(home)).toEqual([]);
});

describe("a file of answers that cannot be used", () => {
  it.each([
    ["nofile", /nofile: there is no such file; give --answers the path of the file with the answers$/],
    ["sub", /sub: this is a folder; name the file in it$/],
    [
      "empty.yaml",
      /empty\.yaml: the file is empty; write the answers into it, platform\.business_url first$/,
    ],
    ["wrong.yaml", /wrong\.yaml:1:\d+: /],
  ])("%s is named with its place and the remedy, and nothing is written", async (name, said) => {
    const home = await folder({ "empty.yaml": "", "wrong.yaml": "platform: { a" });
    await mkdir(join(home, "sub"));
    const config = join(home, "c.yaml");
    const { code, err } = await greenhouse2mqtt(["init", "-c", config, "--answers", join(home, name)]);
    expect(code).toBe(2);
    const lines = err.trim().split("\n");
    expect(lines[0]).toMatch(said);
    expect(lines[0]).toContain(join(home, name));
    expect(await readdir(home)).not.toContain("c.yaml");
  });
});

/** Reads the two files as the program would. */
async function read(answers: Answers, env: Record<string, string> = {}) {
  const { configuration, secrets } = firstFiles(answers, new Set());
  const texts = { "config.yaml": configuration, "secrets.yaml": secretLines(secrets) };
  return loadConfiguration("config.yaml", { readFile: withTexts(texts), env });
}

const hosts = (credential: Credential) => ({
  business_url: "https://business.example.com",
  realtime_url: "https://realtime.example.com",
  ...credential,
});
const line = fc.stringMatching(/^[!-~\u4e00-\u4eff]([ -~\u4e00-\u4eff]{0,30}[!-~\u4e00-\u4eff])?$/);

describe("the written configuration", () => {
  it("passes check and means exactly what was answered, whatever the secrets and names are", async () => {
    const anyToken = fc.stringMatching(/^[!-~]{1,60}$/);
    await fc.assert(
      fc.asyncProperty(line, line, line, anyToken, async (account, user, text, token) => {
        const password = { from: "secrets", text } as const;
        const mqtt = { url: "mqtt://broker.example:1883", username: user, password };
        const signIn = await read({ platform: hosts({ sign_in: { body: { account, password } } }), mqtt });
        const plain = await read({ platform: hosts({ token: { from: "secrets", text: token } }), mqtt: {} });
        if (!signIn.ok || !plain.ok) throw new Error(JSON.stringify([signIn, plain]));
        expect(signIn.configuration.platform.sign_in?.body).toEqual({ account, password: text });
        expect(signIn.configuration.mqtt).toMatchObject({ username: user, password: text });
        expect(signIn.warnings).toEqual([]);
        expect(plain.configuration.platform.token).toBe(token);
        expect(plain.configuration.commands.read_only).toBe(true);
      }),
    );
  });

  it("explains itself in the language of the person", () => {
    const token = { from: "secrets", text: "t" } as const;
    const { configuration } = firstFiles({ platform: hosts({ token }), mqtt: {} }, new Set(), inChinese);
    const comments = configuration.match(/#.*/g) ?? [];
    expect(comments.length).toBeGreaterThan(3);
    expect(comments.filter((one) => !/\p{Script=Han}/u.test(one))).toEqual([]);
  });

  it("holds no secret itself", () => {
    const token = { from: "secrets", text: "canary-1" } as const;
    const password = { from: "secrets", text: "canary-2" } as const;
    const mqtt = { url: "mqtt://a:1", username: "u", password };
    const files = firstFiles({ platform: hosts({ token }), mqtt }, new Set(["mqtt_password"]));
    expect(files.configuration).not.toMatch(/canary/);
    expect([...files.secrets]).toEqual([
      ["platform_token", "canary-1"],
      ["mqtt_password_2", "canary-2"],
    ]);
  });

  it("refers to variables and files where they were named", async () => {
    const answers = (credential: Credential) => ({ platform: hosts(credential), mqtt: {} });
    const named = await read(answers({ token: { from: "env", text: "A_TOKEN" } }), { A_TOKEN: "from-env" });
    const filed = await read(answers({ token_file: "/run/secrets/a b" }));
    expect(named.ok && named.configuration.platform.token).toBe("from-env");
    expect(filed.ok && filed.configuration.platform.token_file).toBe("/run/secrets/a b");
  });
});

describe("files", () => {
  it("one that is there is never overwritten, also when ten write at once", async () => {
    const home = await folder();
    const path = join(home, "config.yaml");
    const texts = Array.from({ length: 10 }, (_, index) => `${index}\n`);
    const written = await Promise.allSettled(texts.map((text) => writeNew(path, text)));
    const won = written.findIndex(({ status }) => status === "fulfilled");
    const lost = written.filter((one) => one.status === "rejected" && one.reason instanceof FileExists);
    expect(lost).toHaveLength(9);
    expect(await readFile(path, "utf8")).toBe(texts[won]);
    expect(await readdir(home)).toEqual(["config.yaml"]);
  });

  it("secrets are added behind what is there, which stays byte by byte, and nobody else may read them", async () => {
    const home = await folder();
    const path = join(home, "secrets.yaml");
    await writeFile(path, "# mine\nother:   'x'", { mode: 0o644 });
    await addLines(path, secretLines(new Map([["platform_token", 'a"b']])));
    expect(await readFile(path, "utf8")).toBe('# mine\nother:   \'x\'\nplatform_token: "a\\"b"\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await secretNames(path)).toEqual(new Set(["other", "platform_token"]));
  });

  it("a folder whose new files are its group's keeps group and mode 640 of what is written there", async () => {
    const home = await folder();
    // Only root may hand a folder to another group, as a package does.
    const gid = process.getuid?.() === 0 ? 12_345 : (await stat(home)).gid;
    await chown(home, (await stat(home)).uid, gid);
    await chmod(home, 0o2750);
    const secrets = join(home, "secrets.yaml");
    await writeNew(join(home, "config.yaml"), "a: 1\n");
    await addLines(secrets, "a: b\n");
    await addLines(secrets, "c: d\n");
    for (const name of await readdir(home)) {
      const facts = await stat(join(home, name));
      expect([name, facts.gid, facts.mode & 0o777]).toEqual([name, gid, 0o640]);
    }
    // What `cat >>` of another umask made of it is mended as well.
    await chmod(secrets, 0o644);
    await addLines(secrets, "e: f\n");
    expect((await stat(secrets)).mode & 0o777).toBe(0o640);
  });

  it.runIf(process.getuid?.() === 0)("secrets that were handed to a service stay its own", async () => {
    const path = join(await folder({ "secrets.yaml": "a: b\n" }), "secrets.yaml");
    await chown(path, 0, 12_345);
    await chmod(path, 0o640);
    await addLines(path, "c: d\n");
    const theirs = await stat(path);
    expect([theirs.uid, theirs.gid, theirs.mode & 0o777]).toEqual([0, 12_345, 0o640]);
    await chown(path, 12_344, 12_345);
    await addLines(path, "e: f\n");
    const own = await stat(path);
    expect([own.uid, own.gid, own.mode & 0o777]).toEqual([12_344, 12_345, 0o600]);
  });

  it.each([
    ["", []],
    ["# only a comment\n", []],
    ["a: 1\nb: 2\n", ["a", "b"]],
    ["- a\n", null],
    ["a: [\n", null],
  ])("names of a secrets file %j: %j", async (text, names) => {
    const path = await fileWith(text, "secrets.yaml");
    expect(await secretNames(path)).toEqual(names && new Set(names));
  });
});

describe("a place that takes no files", () => {
  it.each([
    ["a folder that is not there", "nodir", "does not exist; make it first"],
    ["a file in place of a folder", "afile", "is a file, not a folder"],
  ])("%s is named with the remedy", async (_, name, remedy) => {
    const place = await folder();
    await writeFile(join(place, "afile"), "");
    await expect(mustTakeFiles(join(place, name))).rejects.toThrow(remedy);
    await expect(mustTakeFiles(join(place, name))).rejects.toThrow(join(place, name));
    await expect(writeNew(join(place, name, "f.yaml"), "a: 1\n")).rejects.toThrow(remedy);
    expect(await readdir(place)).toEqual(["afile"]);
  });

  it("a folder where the secrets should be is named", async () => {
    const place = await folder();
    await mkdir(join(place, "secrets.yaml"));
    await expect(secretNames(join(place, "secrets.yaml"))).rejects.toThrow(
      /secrets\.yaml is a folder, not a file/,
    );
  });
});
