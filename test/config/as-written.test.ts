import { describe, expect, it } from "vitest";
import { loaded, platform } from "./loading.js";

const spellings = ["0012", "101", "1e3", "0x1F", "0o17", "12345678901234567890", "1.0", "true", "1_000"];

describe("text is taken as written", () => {
  it.each(spellings)("%s as address, value and device code", async (written) => {
    const { configuration } = await loaded(`${platform}controllers:
  ${written}:
    actuators: { a: { kind: custom, address: 1, values: { on: ${written} } } }
    parameters: { p: { address: ${written} } }
`);
    const { actuators, parameters } = configuration.controllers[written] ?? {};
    expect([actuators?.a?.values.on, parameters?.p?.address]).toEqual([written, written]);
  });

  it.each(['"0012"', "'0012'", "!!str 0012"])("quoted or tagged: %s", async (written) => {
    const { configuration } = await loaded(
      `${platform}controllers: { G: { parameters: { p: { address: ${written} } } } }\n`,
    );
    expect(configuration.controllers.G?.parameters.p?.address).toBe("0012");
  });

  it("also names, passwords and values from variables", async () => {
    const text = `${platform}mqtt: { username: 0012, password: !env PASSWORD }\ncontrollers: { G: { name: 1e3 } }\n`;
    const { configuration } = await loaded(text, { env: { TOKEN: "0001234", PASSWORD: "00042" } });
    expect(configuration.platform.token).toBe("0001234");
    expect(configuration.mqtt).toMatchObject({ username: "0012", password: "00042" });
    expect(configuration.controllers.G?.name).toBe("1e3");
  });
});
