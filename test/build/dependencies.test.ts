import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), "utf8"));

interface Installed {
  readonly optional?: true;
  readonly hasInstallScript?: true;
  readonly engines?: { readonly node?: string };
}

const { packages } = read("package-lock.json") as { readonly packages: Readonly<Record<string, Installed>> };
const { allowScripts } = read("package.json") as { readonly allowScripts: Readonly<Record<string, boolean>> };

/** What Debian 13 brings. */
const usual = [20, 19, 2] as const;

const isAtLeast = (wanted: readonly number[]): boolean => {
  const at = usual.findIndex((part, place) => part !== (wanted[place] ?? 0));
  return at < 0 || (usual[at] ?? 0) > (wanted[at] ?? 0);
};

/** Whether a range such as `^20.19.0 || >=22` has the usual Node.js in it. */
const admits = (range: string): boolean =>
  range === "*" ||
  range.split("||").some((one) => {
    const [, sign = "", numbers = ""] = /^\s*(>=|\^)?\s*([\d.]+)/.exec(one) ?? [];
    const wanted = numbers.split(".").filter(Boolean).map(Number);
    return isAtLeast(wanted) && (sign === ">=" || wanted[0] === usual[0]);
  });

describe("`npm ci` says nothing of", () => {
  it("the version of Node.js, as no package wants a newer one than Debian has", () => {
    const wanting = Object.entries(packages).filter(([, { engines }]) => !admits(engines?.node ?? ">=0"));
    expect(wanting.map(([name, { engines }]) => [name, engines?.node])).toEqual([]);
  });

  it("install scripts, as package.json settles for each whether it runs", () => {
    const scripted = Object.entries(packages).filter(([, one]) => one.hasInstallScript === true);
    const names = scripted.map(([path]) => path.split("node_modules/").at(-1) ?? "");
    expect(Object.keys(allowScripts).sort()).toEqual(names.sort());
  });
});
