import { type Command, InvalidArgumentError } from "commander";
import { parseTypes } from "../setup/discover/type-list.js";
import type { DiscoverOptions } from "./discover.js";
import { examples } from "./help.js";
import type { Surroundings } from "./surroundings.js";

const discoverExamples = [
  "greenhouse2mqtt discover -o found.yaml",
  "greenhouse2mqtt discover --controller GH-0001 --types 2,190-201",
  "greenhouse2mqtt discover --merge config.yaml   what is new since then",
];

/** Describes `discover` and its own options. */
export function discoverCommand(command: Command, around: Surroundings): void {
  examples(command, ...discoverExamples)
    .description("list controllers, sensors and addresses of the account as ready-to-use YAML; only reads")
    .option("--controller <code>", "only this one, device code or topic id; may be repeated", collected)
    .option("--types <list>", "only these control-parameter types, such as 2,190-201", typeList)
    .option("-o, --out <file>", "write a new file, mode 600, instead of stdout; never over an existing one")
    .option("--merge <file>", "print only what this configuration does not hold yet; it is not changed")
    .option("--fresh", "start over instead of going on where an interrupted scan stopped")
    .action(async (options: DiscoverOptions, self: Command) => {
      // The file to compare with also leads to the platform, unless another one is named.
      const isNamed = self.getOptionValueSource("config") !== "default";
      const config = isNamed ? options.config : (options.merge ?? options.config);
      await (await import("./discover.js")).discover({ ...options, config }, around);
    });
}

const collected = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function typeList(text: string): NonNullable<DiscoverOptions["types"]> {
  const types = parseTypes(text);
  if (types !== null) return types;
  throw new InvalidArgumentError("expected type ids such as 2,12 or 190-201");
}
