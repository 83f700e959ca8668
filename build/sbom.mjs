// npm run sbom: what is in the built program, as a CycloneDX bill of materials, in `dist/sbom.cdx.json`. Reads the bill of
// all that is installed, and leaves in it the packages that THIRD-PARTY-NOTICES names.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { root } from "./bundle.mjs";
import { namedIn } from "./notices.mjs";

const version = "1.6";

const bundled = new Set(namedIn(readFileSync(join(root, "dist/THIRD-PARTY-NOTICES"), "utf8")));
const nameOf = ({ group, name, version: one }) => `${group === undefined ? "" : `${group}/`}${name}@${one}`;

function onlyBundled(bill) {
  const seen = new Set();
  const components = bill.components.filter((one) => {
    const isNew = bundled.has(nameOf(one)) && !seen.has(nameOf(one));
    seen.add(nameOf(one));
    return isNew;
  });
  const missing = [...bundled].filter((name) => !seen.has(name));
  if (missing.length > 0) throw new Error(`cyclonedx-npm knows nothing of ${missing.join(", ")}`);
  const refs = new Set([bill.metadata.component, ...components].map((one) => one["bom-ref"]));
  const known = (list) => list?.filter((ref) => refs.has(ref));
  return {
    ...bill,
    components: components.map((one) => ({
      ...one,
      // Where it lay at build time, and that it was a development dependency, is nothing to whoever runs the program.
      properties: one.properties?.filter(({ name }) => !/:(?:path|development)$/.test(name)),
    })),
    dependencies: bill.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: known(dependsOn) })),
  };
}

const text = `${JSON.stringify(onlyBundled(JSON.parse(readFileSync(0, "utf8"))), null, 2)}\n`;
const problems = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text);
if (problems !== null)
  throw new Error(`the bill is not what CycloneDX ${version} says: ${JSON.stringify(problems)}`);
writeFileSync(join(root, "dist/sbom.cdx.json"), text);
console.log(`dist/sbom.cdx.json: ${bundled.size} packages, valid by the schema of CycloneDX ${version}`);
