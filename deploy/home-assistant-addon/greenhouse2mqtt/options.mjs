/*
 * What stands in the options of the Home Assistant app, as a configuration of the bridge. Secrets go to secrets.yaml
 * beside it. JSON is YAML too, so every text is written as JSON.
 */

/** A mistake in the options; the message is for the person who fills them in. */
export class OptionsError extends Error {}

/**
 * @param options content of /data/options.json
 * @param service the MQTT service of Home Assistant ({ host, port, ssl, username, password }), or null without one
 * @returns {{ configuration: string, secrets: string }} texts of config.yaml and secrets.yaml
 */
export function configurationOf(options, service) {
  const secrets = new Map();
  const secret = (name, value) => {
    secrets.set(name, value);
    return `!secret ${name}`;
  };
  const lines = [
    "# Written from the options of the app at each start. Change the options, not this file.",
    "platform:",
    `  business_url: ${JSON.stringify(options.business_url)}`,
    `  realtime_url: ${JSON.stringify(options.realtime_url)}`,
    ...credentialLines(options, secret),
    ...optionalLines(options, ["time_zone", "allow_insecure", "requests_per_minute"]),
    ...mqttLines(brokerOf(options, service), secret),
    // Of names in Home Assistant, of notices, and of the command line.
    `language: ${options.language}`,
    ...(options.sensor_names ? [`homeassistant: { sensor_names: ${options.sensor_names} }`] : []),
    `commands: { read_only: ${String(options.read_only)} }`,
    // From outside the container nothing but health without the Supervisor's ingress.
    // An announcement would not get out of it.
    `http: { host: 0.0.0.0, port: 8099, mdns: false, settings: false, ingress: { enabled: true, role: ${options.page_role} } }`,
    `log: { level: ${options.log_level} }`,
    "data_dir: ./data",
    ...controllerLines(options),
  ];
  const secretLines = [...secrets].map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return { configuration: `${lines.join("\n")}\n`, secrets: `${secretLines.join("\n")}\n` };
}

/** The broker of the options, else Home Assistant's. */
function brokerOf(options, service) {
  if (options.mqtt_url)
    return { url: options.mqtt_url, username: options.mqtt_username, password: options.mqtt_password };
  if (service === null)
    throw new OptionsError("There is no MQTT broker: install the app «Mosquitto broker», or set mqtt_url.");
  const url = `${service.ssl ? "mqtts" : "mqtt"}://${service.host}:${service.port}`;
  return { url, username: service.username, password: service.password };
}

/**
 * What a configuration file of the user's own may ask of the environment. It may name its broker itself, so without one
 * here nothing is missing.
 */
export function environmentOf(options, service) {
  const { url, username, password } = options.mqtt_url || service !== null ? brokerOf(options, service) : {};
  const known = {
    MQTT_URL: url,
    MQTT_USERNAME: username,
    MQTT_PASSWORD: password,
    GREENHOUSE_TOKEN: options.token,
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value));
}

/** Whether a start waits for Home Assistant's MQTT service: not where a file of the user's own never asks for it. */
export function needsService(options, file) {
  return !options.mqtt_url && (file === null || /\bMQTT_(URL|USERNAME|PASSWORD)\b/.test(file));
}

function credentialLines({ token, sign_in: fields = [] }, secret) {
  if (token && fields.length > 0)
    throw new OptionsError("Only one of token and sign_in can be used: empty the other one.");
  if (token) return [`  token: ${secret("platform_token", token)}`];
  if (fields.length === 0)
    throw new OptionsError("The platform wants a credential: set token, or the fields of sign_in.");
  const body = fields.map(
    ({ name, value }, at) => `      ${JSON.stringify(name)}: ${secret(`sign_in_${at}`, value)}`,
  );
  return ["  sign_in:", "    body:", ...body];
}

function mqttLines({ url, username, password }, secret) {
  return [
    "mqtt:",
    `  url: ${JSON.stringify(url)}`,
    ...(username ? [`  username: ${JSON.stringify(username)}`] : []),
    ...(password ? [`  password: ${secret("mqtt_password", password)}`] : []),
  ];
}

/** Keys of a section that are called as their options are. */
const optionalLines = (options, names) =>
  names.flatMap((name) => {
    const value = options[name];
    return value === undefined || value === "" ? [] : [`  ${name}: ${JSON.stringify(value)}`];
  });

/** An entry of the page as the configuration has it, which keeps the values of a motor and what Home Assistant shows apart. */
function actuatorOf({ open_value: open, close_value: close, stop_value: stop, inverted, ...given }) {
  const values = Object.entries({ open, close, stop }).filter(([, value]) => value);
  return {
    ...given,
    ...(values.length > 0 && { values: Object.fromEntries(values) }),
    ...(inverted && { homeassistant: { inverted } }),
  };
}

function controllerLines({ actuators = [], left_out: leftOut = [] }) {
  const controllers = new Map(leftOut.map((code) => [code, { ignore: true }]));
  for (const { controller, id, ...actuator } of actuators) {
    const known = controllers.get(controller) ?? { actuators: {} };
    if (known.ignore)
      throw new OptionsError(`actuators: ${controller} stands in left_out too, so it has no actuators.`);
    if (Object.hasOwn(known.actuators, id))
      throw new OptionsError(`actuators: ${controller} has two of the id "${id}".`);
    known.actuators[id] = actuatorOf(actuator);
    controllers.set(controller, known);
  }
  const lines = [...controllers].map(
    ([code, settings]) => `  ${JSON.stringify(code)}: ${JSON.stringify(settings)}`,
  );
  return lines.length === 0 ? ["controllers: {}"] : ["controllers:", ...lines];
}
