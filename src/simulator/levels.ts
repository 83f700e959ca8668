/** The twelve irrigation plans of a machine. */
export const planRoles = [
  "plan_1",
  "plan_2",
  "plan_3",
  "plan_4",
  "plan_5",
  "plan_6",
  "plan_7",
  "plan_8",
  "plan_9",
  "plan_10",
  "plan_11",
  "plan_12",
] as const;

/** Every physical device that can move. Curtains and windows: 1 is open (a curtain drawn aside); the rest: 1 is on. */
export const roles = [
  "left_skylight",
  "right_skylight",
  "side_vent",
  "inner_shade",
  "outer_shade",
  "thermal_curtain",
  "louvre",
  "fan_1",
  "fan_2",
  "fan_3",
  "wet_curtain",
  "circulation",
  "light",
  "co2",
  "heating",
  "mist",
  "vent_motor",
  "special",
  ...planRoles,
] as const;

export type Role = (typeof roles)[number];

/** How far each device is, 0 to 1. */
export type Levels = Record<Role, number>;

/** Every device at its zero end. */
export const restingLevels = (): Levels => ({
  left_skylight: 0,
  right_skylight: 0,
  side_vent: 0,
  inner_shade: 0,
  outer_shade: 0,
  thermal_curtain: 0,
  louvre: 0,
  fan_1: 0,
  fan_2: 0,
  fan_3: 0,
  wet_curtain: 0,
  circulation: 0,
  light: 0,
  co2: 0,
  heating: 0,
  mist: 0,
  vent_motor: 0,
  special: 0,
  plan_1: 0,
  plan_2: 0,
  plan_3: 0,
  plan_4: 0,
  plan_5: 0,
  plan_6: 0,
  plan_7: 0,
  plan_8: 0,
  plan_9: 0,
  plan_10: 0,
  plan_11: 0,
  plan_12: 0,
});

/** Where a value sends a device; `hold` stops it where it is, `auto` leaves it to the local controller. */
export type Target = number | "hold" | "auto";
