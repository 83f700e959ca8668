import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/*
 * The program advises settings by which less is asked for before something counts as done, as good, or as safe. Each stands here with
 * what else would look the same, and why following it makes nothing false. A sentence that names such a setting and has no row is red:
 * before it may be said, somebody has to ask what else it could be.
 */

interface Row {
  /** How a sentence of the source advises it. */
  readonly advice: RegExp;
  /** Where it is said. */
  readonly files: readonly string[];
  /** What else would look the same. */
  readonly alsoLooksSo: string;
  /** Why following it can make no false `confirmed` and no false state. */
  readonly because: string;
  /** The tests that keep it. */
  readonly kept: readonly string[];
}

const rows: readonly Row[] = [
  {
    advice: /position_reads: mode|key: "position_reads"/,
    files: ["commands/endings.ts", "setup/doctor/meaning-checks.ts", "setup/doctor/watch-conclusions.ts"],
    alsoLooksSo:
      "the degree has an address of its own: accepted, and nothing moves; or it is on its way still",
    because:
      "it is named last, only where its type was read and lists no free address with 0..100, and for whoever saw it go there; a degree stays uncertain",
    kept: ["commands/readings.test.ts", "setup/doctor/watch.test.ts", "end-to-end/other-readings.test.ts"],
  },
  {
    advice: /add reads: \{|key: "reads"/,
    files: ["commands/endings.ts", "setup/doctor/meaning-checks.ts", "setup/doctor/watch-conclusions.ts"],
    alsoLooksSo:
      "it stopped on its way, it stood there before, the address is another thing's, the kind is another one, a wall switch",
    because:
      "only a control value that no other kind has, or the end of the way that the word leads to, and only where it was not there before; for whoever saw it do it",
    kept: ["commands/readings.test.ts", "setup/doctor/watch.test.ts"],
  },
  {
    advice: /set pulse: true|key: "pulse"/,
    files: ["greenhouse/readings.ts", "setup/doctor/meaning-checks.ts", "setup/doctor/watch-conclusions.ts"],
    alsoLooksSo: "the motor ignored it, its local switch is off, or the address is another thing's",
    because:
      "only of a register that is idle as before, for whoever saw it move; the state stays uncertain, and the result says what the proof is",
    kept: ["commands/further-readings.test.ts", "setup/doctor/watch.test.ts"],
  },
  {
    advice: /set (?:position_address and )?mode_reads: never/,
    files: ["commands/checks.ts", "setup/doctor/meaning-checks.ts"],
    alsoLooksSo: "the address of the mode is wrong",
    because:
      "the address comes first, and the degree at an address of its own is the proof: without it nothing is confirmed",
    kept: ["commands/further-readings.test.ts"],
  },
  {
    advice: /with values or reads/,
    files: ["setup/doctor/meaning-checks.ts"],
    alsoLooksSo: "the kind or the address is wrong",
    because: "kind and address come first, and a watched movement says which value it is",
    kept: ["setup/doctor/doctor.e2e.ts"],
  },
  {
    advice: /running_status: \{ reads/,
    files: ["setup/doctor/meaning-checks.ts", "setup/doctor/watch-conclusions.ts"],
    alsoLooksSo: "a status that counts or reports a fault",
    because: "no values are proposed, and a running status confirms no command",
    kept: ["setup/doctor/doctor.e2e.ts"],
  },
  {
    advice: /key: "tolerance"/,
    files: ["setup/doctor/watch-conclusions.ts"],
    alsoLooksSo: "it stood near before and never moved, or was stopped on its way",
    because: "10 degrees at most, and only where it came from at least twice as far away",
    kept: ["setup/doctor/watch.test.ts"],
  },
  {
    advice: /key: "travel_time"/,
    files: ["setup/doctor/watch-conclusions.ts"],
    alsoLooksSo: "only a part of the way was watched",
    because: "it is only ever made longer, which makes later and never weaker what counts",
    kept: ["setup/doctor/watch.test.ts"],
  },
  {
    advice: /key: "running"/,
    files: ["setup/doctor/watch-conclusions.ts"],
    alsoLooksSo: "something else ran meanwhile",
    because:
      "a running status confirms no command; a wrong one shows at the next movement, and in not_running",
    kept: ["setup/doctor/watch.test.ts"],
  },
  {
    advice: /accept_type: true/,
    files: ["greenhouse/device-types.ts"],
    alsoLooksSo: "the kind or the type_id is wrong",
    because: "both come first; the value is read back as of any other, so that only what is sent is wider",
    kept: ["config/warnings.test.ts"],
  },
  {
    advice: /leave type_id out/,
    files: ["setup/doctor/address-checks.ts", "setup/doctor/watch-conclusions.ts", "sync/mirror.ts"],
    alsoLooksSo: "the address or the type is wrong",
    because:
      "get-value then counts, which is the stronger read; what a type lists is unknown then, so that no weaker proof is named",
    kept: ["commands/readings.test.ts", "setup/doctor/watch.test.ts"],
  },
  {
    advice: /could be confirmed.*"force": true/,
    files: ["commands/checks.ts"],
    alsoLooksSo: "the address is wrong",
    because: "the address comes first; without a value that is read afterwards the command ends unknown",
    kept: ["commands/path.test.ts"],
  },
  {
    advice: /\b(?:lock|unlock)\b.*"force": true|"force": true.*\block/,
    files: ["status/requests.ts"],
    alsoLooksSo: "the holder still works there",
    because:
      "the holder is named first, and a lock that was taken away by force is journaled with who did it",
    kept: ["status/notices.test.ts"],
  },
  {
    advice: /set platform\.push\.enabled to false/,
    files: ["setup/doctor/platform-checks.ts"],
    alsoLooksSo: "a proxy or a firewall on the way",
    because: "these come first; polling reads the same, and push never proves anything by itself",
    kept: ["setup/doctor/planted-faults.e2e.ts"],
  },
  {
    advice: /lead_in: never/,
    files: ["config/rules/limit-rules.ts", "settings/sections/controllers.ts"],
    alsoLooksSo: "a platform that ignores any value before on",
    because: "the value is read back all the same, and ends unconfirmed where it was ignored",
    kept: ["commands/path.test.ts"],
  },
  {
    advice: /lengthen polling\.stale_after/,
    files: ["setup/doctor/zone-check.ts"],
    alsoLooksSo: "the sensors stand still, and what is shown as stale is",
    because: "the platform's own app is looked at first, and it is for those that report that seldom",
    kept: ["setup/doctor/doctor.test.ts"],
  },
  {
    advice: /set platform\.time_zone to/,
    files: ["setup/doctor/zone-check.ts"],
    alsoLooksSo: "the controllers measured nothing for so long, or their clocks are wrong",
    because: "both are said beside it, with where to see it: the platform's own app",
    kept: ["setup/doctor/doctor.test.ts"],
  },
  {
    advice: /set platform\.allow_insecure|say platform\.allow_insecure/,
    files: ["config/rules/rules.ts", "setup/init/given-answers.ts"],
    alsoLooksSo: "https was forgotten in the address",
    because: "https comes first, and it weakens no proof; check goes on warning",
    kept: ["config/rules.test.ts"],
  },
  {
    advice: /send without "at"/,
    files: ["commands/age.ts"],
    alsoLooksSo: "the clock of the sender is wrong, and not that of the bridge",
    because: "the time service comes first; max_age from arrival holds without it",
    kept: ["greenhouse/plan.test.ts"],
  },
];

/** What asks for less: a sentence that names one of these advises it, or has a row below. */
const weakening =
  /\b(?:position_reads|mode_reads|pulse: true|tolerance|accept_type|lead_in: never|allow_insecure|reject_unauthorized|stale_after|confirm_within|time_zone)\b|"force"|\breads:|leave type_id out|send without/;

/** Sentences that name such a key and do not advise it. */
const harmless: readonly RegExp[] = [
  /has position_reads: mode, so a degree may be confirmed although nothing moves/,
  /is not verified|changes nothing: certificates are verified/,
  /more than polling\.stale_after|stale before the next poll|polling\.stale_after is/,
  /without a tolerance it ends unconfirmed/,
  /the controllers' clocks are wrong|in \$\{timeZone\}/,
];

const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
  (file) =>
    /\.ts$/.test(file) &&
    // What the keys mean is no advice, and the rest says the same in Chinese, or is what the simulated platform is told.
    !/^(?:settings\/sections|cli\/chinese|simulator|cli\/storm|config\/schema|notify\/section|page)/.test(
      file.replaceAll("\\", "/"),
    ),
);
/** Without the table of readings: what a key means is no advice. */
const textOf = (file: string): string =>
  readFileSync(`src/${file}`, "utf8").replace(/^export const readingRows = [^]*?^\}/m, "");

/** Texts between quotes or backticks with a blank in them: what is a sentence, and no key. */
const sentencesIn = (text: string): readonly string[] =>
  [
    ...text
      .replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "")
      .matchAll(/`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g),
  ]
    .map(([found]) => found)
    .filter((one) => /[a-z] [a-z]/.test(one));

describe("advice by which less counts as proof", () => {
  it.each(rows)("$advice is said where its row says", ({ advice, files }) => {
    const found = sources
      .filter((file) => advice.test(textOf(file)))
      .map((file) => file.replaceAll("\\", "/"));
    const known = files.filter((file) => !file.startsWith("settings/sections"));
    expect(found.toSorted()).toEqual(known.toSorted());
  });

  it("has a row for each sentence", () => {
    const unknown = sources.flatMap((file) =>
      sentencesIn(textOf(file))
        .filter((one) => weakening.test(one))
        .filter(
          (one) => !rows.some(({ advice }) => advice.test(one)) && !harmless.some((known) => known.test(one)),
        )
        .map((one) => `${file}: ${one.slice(0, 160)}`),
    );
    expect(unknown).toEqual([]);
  });

  it("says of each what else would look the same, why it makes nothing false, and which tests keep it", () => {
    for (const { alsoLooksSo, because, kept } of rows) {
      expect([alsoLooksSo.length > 10, because.length > 20, kept.length > 0]).toEqual([true, true, true]);
      for (const test of kept) expect(() => readFileSync(`test/${test}`)).not.toThrow();
    }
  });
});
