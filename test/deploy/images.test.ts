import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const text = (path: string) => readFileSync(path, "utf8");
const readme = text("deploy/README.md");
const compose = parse(text("deploy/compose/compose.yaml")) as {
  services: Record<string, { image: string; build?: { args: Record<string, string> } }>;
};

describe("images from elsewhere", () => {
  const images = [
    ...Object.values(compose.services).map(({ image }) => image),
    ...Object.values(compose.services.bridge?.build?.args ?? {}),
  ].filter((image) => image !== "greenhouse2mqtt:local");

  it.each(images)("can be named by digest without changing a file: %s", (image) => {
    const [, variable = "", standard = ""] = /^\$\{([A-Z_]+):-([^}]+)\}$/.exec(image) ?? [];
    expect(standard).toContain(":");
    expect(readme).toContain(`${variable}=${standard}@sha256:…`);
  });

  it("stand in one place of the Dockerfile, with how to name them by digest", () => {
    const dockerfile = text("Dockerfile");
    const from = dockerfile.split("\n").filter((line) => line.startsWith("FROM "));
    expect(from.map((line) => line.split(" ").find((word) => word.includes("IMAGE")))).toEqual(
      from.map(() => "$NODE_IMAGE"),
    );
    const [, standard = ""] = /^ARG NODE_IMAGE=(.+)$/m.exec(dockerfile) ?? [];
    expect(dockerfile).toContain(`--build-arg NODE_IMAGE=${standard}@sha256:…`);
    expect(text("deploy/home-assistant-addon/greenhouse2mqtt/Dockerfile")).toContain(`${standard}@sha256:…`);
  });
});
