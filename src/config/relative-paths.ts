import { isAbsolute, join } from "node:path";
import type { Configuration } from "./schema.js";

/** Paths in a configuration mean its own folder, wherever the program is started; afterwards they can be opened as they are. */
export function resolvedPaths(configuration: Configuration, folder: string): Configuration {
  const from = (path: string) => (isAbsolute(path) ? path : join(folder, path));
  const maybe = (path: string | undefined) => (path === undefined ? undefined : from(path));
  const { platform, mqtt, broker } = configuration;
  return {
    ...configuration,
    data_dir: from(configuration.data_dir),
    platform: { ...platform, token_file: maybe(platform.token_file) },
    mqtt: {
      ...mqtt,
      tls: { ...mqtt.tls, ca: maybe(mqtt.tls.ca), cert: maybe(mqtt.tls.cert), key: maybe(mqtt.tls.key) },
    },
    broker: {
      ...broker,
      tls: { ...broker.tls, cert: maybe(broker.tls.cert), key: maybe(broker.tls.key) },
    },
  };
}
