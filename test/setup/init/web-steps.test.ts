import { join } from "node:path";
import { expect, it } from "vitest";
import { Speech } from "../../../src/terminal/speech.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { webSteps } from "../../../src/setup/init/web-steps.js";
import { folder } from "../../cli/in-process.js";

const stop = new AbortController().signal;

it.each([
  ["en", /^This password will not do: .*[a-z]/, /^platform\.business_url is missing \(--business-url\); /],
  ["zh", /^这个密码不行：[^a-z]*$/, /^缺少 platform\.business_url（--business-url）；/],
] as const)(
  "a step that is refused says why in %s, which the browser speaks",
  async (language, weak, missing) => {
    const file = join(await folder(), "config.yaml");
    const speech = new Speech();
    const steps = webSteps(file, {
      ...{
        clock: systemClock,
        random: () => 0.5,
        env: {},
        stop,
        brokers: [],
        writtenBy: "greenhouse2mqtt 0",
      },
      ...{ port: () => null, onDone: () => undefined, pageAddress: () => Promise.resolve(null), speech },
      say: () => undefined,
    });
    const platform = { business_url: "https://b.example", realtime_url: "https://r.example", token: "t" };
    const user = { username: "anna", password: "short" };
    await expect(steps["write"]?.({ language, platform, user })).rejects.toThrow(weak);
    await expect(steps["platform"]?.({ language, platform: {} })).rejects.toThrow(missing);
  },
);
