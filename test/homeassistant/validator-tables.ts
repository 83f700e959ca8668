/*
 * What Home Assistant 2024.11 and newer accepts, taken from its documentation: keys per object and platform, classes,
 * units. Wider than what the bridge sends, so that the validator does not just repeat the product.
 */

const words = (text: string): string[] => text.trim().split(/\s+/);

const sharedAvailability = words(
  "availability availability_mode availability_topic availability_template payload_available payload_not_available",
);

export const rootKeys = new Set([
  ...words("device origin components state_topic command_topic qos encoding"),
  ...sharedAvailability,
]);

/** Given at the root these reach every component that lacks them. */
export const sharedKeys = [...rootKeys].filter((key) => !["device", "origin", "components"].includes(key));

export const deviceKeys = new Set(
  words(
    "identifiers connections name manufacturer model model_id serial_number hw_version sw_version suggested_area via_device configuration_url",
  ),
);

export const originKeys = new Set(words("name sw_version support_url"));

export const availabilityItemKeys = new Set(
  words("topic payload_available payload_not_available value_template"),
);

const entityKeys = [
  ...words(
    "platform unique_id default_entity_id name icon entity_picture enabled_by_default visible_by_default entity_category",
  ),
  ...words("json_attributes_topic json_attributes_template qos encoding message_expiry_interval group"),
  ...sharedAvailability,
];

const commandKeys = words("command_topic command_template retain optimistic state_topic value_template");

interface PlatformRow {
  readonly required: readonly string[];
  readonly keys: ReadonlySet<string>;
  readonly deviceClasses: readonly string[];
}

const row = (required: string, keys: string, deviceClasses = ""): PlatformRow => ({
  required: required === "" ? [] : words(required),
  keys: new Set([...entityKeys, ...words(keys)]),
  deviceClasses: deviceClasses === "" ? [] : words(deviceClasses),
});

/** Units by device class; `null` is "no unit". A class that is missing here is unknown to the floor release. */
export const sensorUnits: Readonly<Record<string, readonly (string | null)[]>> = {
  atmospheric_pressure: words("cbar bar hPa mmHg inHg kPa mbar Pa psi"),
  pressure: words("cbar bar hPa mmHg inHg kPa mbar Pa psi"),
  battery: ["%"],
  carbon_dioxide: ["ppm"],
  conductivity: words("S/cm mS/cm μS/cm"),
  current: words("A mA"),
  duration: words("d h min s ms"),
  enum: [null],
  humidity: ["%"],
  illuminance: ["lx"],
  irradiance: ["W/m²", "BTU/(h⋅ft²)"],
  moisture: ["%"],
  ph: [null],
  pm25: ["μg/m³"],
  power: words("W kW"),
  precipitation: words("cm in mm"),
  precipitation_intensity: words("in/d in/h mm/d mm/h"),
  signal_strength: words("dB dBm"),
  speed: words("ft/s in/d in/h km/h kn m/s mph mm/d"),
  temperature: words("°C °F K"),
  timestamp: [null],
  voltage: words("V mV"),
  volume_flow_rate: words("m³/h ft³/min L/min gal/min"),
  volume_storage: words("L mL gal m³"),
  water: words("L gal m³"),
  wind_speed: words("ft/s km/h kn m/s mph"),
};

/** State classes a device class can have, where not `measurement`. */
export const stateClasses: Readonly<Record<string, readonly string[]>> = {
  precipitation: ["total", "total_increasing"],
  water: ["total", "total_increasing"],
  timestamp: [],
  enum: [],
};

const binaryClasses =
  "battery cold connectivity door heat light moisture motion opening power problem running safety smoke tamper update window";

/** Entity platforms of the floor release. */
export const platformRows: Readonly<Record<string, PlatformRow>> = {
  binary_sensor: row(
    "state_topic",
    "state_topic value_template payload_on payload_off device_class expire_after off_delay force_update",
    binaryClasses,
  ),
  sensor: row(
    "state_topic",
    "state_topic value_template device_class unit_of_measurement state_class suggested_display_precision options expire_after force_update last_reset_value_template",
    Object.keys(sensorUnits).join(" "),
  ),
  switch: row(
    "command_topic",
    `${commandKeys.join(" ")} payload_on payload_off state_on state_off device_class`,
    "switch outlet",
  ),
  select: row("command_topic options", `${commandKeys.join(" ")} options`),
  number: row(
    "command_topic",
    `${commandKeys.join(" ")} min max step mode unit_of_measurement device_class payload_reset`,
  ),
  light: row(
    "command_topic",
    `${commandKeys.join(" ")} schema payload_on payload_off state_value_template on_command_type`,
  ),
  lock: row(
    "command_topic",
    `${commandKeys.join(" ")} code_format payload_lock payload_unlock payload_open payload_reset state_locked state_unlocked state_locking state_unlocking state_jammed state_open state_opening`,
  ),
  button: row(
    "command_topic",
    "command_topic command_template retain payload_press device_class",
    "restart update identify",
  ),
  event: row(
    "state_topic event_types",
    "state_topic value_template event_types device_class",
    "doorbell button motion",
  ),
  cover: row(
    "",
    `${commandKeys.join(" ")} payload_open payload_close payload_stop state_open state_closed state_opening state_closing state_stopped position_topic position_template set_position_topic set_position_template position_open position_closed device_class`,
    "awning blind curtain damper door garage gate shade shutter window",
  ),
  valve: row(
    "",
    `${commandKeys.join(" ")} payload_open payload_close payload_stop state_open state_closed state_opening state_closing reports_position position_open position_closed device_class`,
    "water gas",
  ),
  fan: row("command_topic", `${commandKeys.join(" ")} payload_on payload_off preset_modes`),
  text: row("command_topic", `${commandKeys.join(" ")} min max mode pattern`),
  notify: row("command_topic", "command_topic command_template retain"),
};

/** Without a unique id and an entity. */
export const otherPlatforms = new Set(["device_automation", "tag"]);
