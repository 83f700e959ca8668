import { compact, digits, type Kinds, kindsOf } from "./sensor-name-spelling.js";
import type { SensorKind } from "./sensors.js";

/*
 * Names of places that may precede or follow the name of a quantity: `word group class: names`. Of each group at most one counts.
 *
 * groups: `side` of the glass, `medium`, `position`, `span` of time. class: which names of quantities fit (see
 * below); `o` is outdoor or indoor and falls back to air, `-` changes nothing. `~` adds no word.
 */
export const placeNames = `
outdoor side o: 室外, 户外, 棚外, 温室外, 大棚外, 外部, 外界, 室外环境, 外, 场外, 舍外, outdoor, outside, external, exterior, ext, out, outdoors
indoor side o: 室内, 棚内, 温室内, 大棚内, 内部, 室内环境, 内, 棚, 棚室, 温室, 大棚, 舍内, 室, indoor, inside, internal, interior, int, in, greenhouse, house, indoors
ambient side o: 环境, ambient, environment, env
air medium a: 空气, 大气, 气, air
soil medium g: 土壤, 土, 地, 地下, 泥土, 土层, soil, ground
soil_surface medium g: 地表, 地面, 土壤表面, 土表, 表土, soil surface, surface soil
substrate medium g: 基质, 栽培基质, 介质, 基料, substrate, media, growing medium
slab medium g: 基质条, 基质袋, 岩棉条, slab
rockwool medium g: 岩棉, rockwool
coco medium g: 椰糠, coco, coir
root_zone medium g: 根区, 根部, 根系, 根际, 根, 根域, root zone, root, rootzone
leaf medium f: 叶面, 叶片, 叶, 叶子, 叶表, 叶表面, leaf, leaves
canopy medium a: 冠层, canopy, crop canopy
fruit medium p: 果实, 果面, fruit
stem medium p: 茎秆, 茎杆, 茎, stem
plant medium p: 植株, 作物, 植物, plant, crop
wall medium p: 墙体, 墙面, 墙, 后墙, 北墙, wall
cover medium p: 棚膜, 薄膜, 玻璃
water medium l: 水, 水体, 水质, water
pool medium l: 水池, 蓄水池, 池水, 池, pool, pond, reservoir
water_tank medium l: 水箱, 水罐, 水桶, 储水罐, 水塔, water tank
raw_water medium l: 原水, 源水, 水源, 清水, 井水, raw water, source water, well water
irrigation medium l: 灌溉, 灌溉水, 灌水, 滴灌, irrigation, irrigation water, drip
nutrient_solution medium l: 营养液, 养液, nutrient solution, nutrient
fertilizer medium l: 肥液, 肥水, 水肥, 液肥, 肥料, 施肥, fertilizer, fertiliser
fertilizer_tank medium l: 肥料桶, 肥液桶, 肥料罐, 肥液罐, 肥桶, 肥罐, 施肥罐, 施肥桶, fertilizer tank, fertiliser tank
mix medium l: 混合液, 混液, 混肥, 混合, 混肥液, 混合桶, 混合罐, 混肥桶, 配液, mix, mixed, mixing tank, mixing
stock_solution medium l: 母液, 原液, 浓缩液, stock solution, stock
acid_tank medium l: 酸液桶, 酸罐, 酸桶, 酸液罐, acid tank
feed medium l: 进液, 供液, 给液, 注液, feed, supply solution, dripper, feed solution
inlet medium l: 进水, 入水, 进口, 入口, 进水口, inlet, inlet water
supply medium l: 供水, 给水, 供水管, 供水管道, supply, supply water, water supply
outlet medium l: 出水, 出口, 出水口, 出液, 出液口, outlet
return medium l: 回液, 回流, 回流液, 回收液, return, return solution
return_water medium l: 回水, return water
drain medium l: 排液, 废液, 排出液, 渗出液, 淋出液, 排液口, drain, drainage, runoff, leachate, drain water
drain_water medium l: 排水, 废水, 渗水
tank medium l: 罐, 储液罐, 液罐, 桶, 液桶, 储液桶, tank, barrel
liquid medium l: 液, 液体, 溶液, liquid, solution
pipe medium l: 管道, 管网, 管路, 主管, 主管道, 水管, 总管, 支管, pipe, main pipe, pipeline
pump medium l: 水泵, 泵, 泵口, 泵后, pump
filter_inlet medium l: 过滤前, 过滤器前, 过滤器进口, before filter
filter_outlet medium l: 过滤后, 过滤器后, 过滤器出口, after filter
east position -: 东, 东侧, 东部, 东区, 东面, 东边, 东端, east
west position -: 西, 西侧, 西部, 西区, 西面, 西边, 西端, west
south position -: 南, 南侧, 南部, 南区, 南面, 南边, 南端, south
north position -: 北, 北侧, 北部, 北区, 北面, 北边, 北端, north
middle position -: 中部, 中间, 中层, 中区, 中央, 中, middle, center, centre, mid
upper position -: 上, 上层, 上部, 上方, 顶部, 高处, 上端, upper, top
lower position -: 下, 下层, 下部, 下方, 底部, 低处, 下端, lower, bottom
surface position -: 表层, surface
shallow position -: 浅层, 浅, shallow
deep position -: 深层, 深, deep
front position -: 前部, 前端, 前, front
rear position -: 后部, 后端, 后, rear, back
left position -: 左侧, 左, 左边, left
right position -: 右侧, 右, 右边, right
average span -: 平均, 均, average, avg, mean
highest span -: 最高, 最大, highest, maximum, max
lowest span -: 最低, 最小, lowest, minimum, min
~ span -: 实时, 当前, 瞬时, 现在, 实际, 即时, current, actual, realtime, real time, instant, instantaneous, measured
`;

/*
 * Names of quantities; a line is `word kinds places: names`.
 *
 * kinds: what a name can mean, the first one unless the unit decides; with a leading `?` nothing without a unit.
 * places: `-` alone; or after the name of a place: `a` air, `g` ground, `f` leaf, `p` part of a plant or building, `l` liquid,
 * `o` only outdoors and indoors.
 * Words are part of topics, so none is ever changed; a new name is added to the golden file of the tests.
 */

export const climateNames = `
temperature temperature -apfl: 温度, temperature, temp, temperatur
temperature temperature apfl: 温
temperature soil_temperature g: 温度, 温, temperature, temp
humidity humidity -a: 湿度, 相对湿度, humidity, humi, hum, rh, relative humidity
humidity humidity a: 湿
absolute_humidity other -a: 绝对湿度, absolute humidity
co2 co2 -ag: 二氧化碳, 二氧化碳浓度, 二氧化碳含量, co2, co2浓度, co2含量, carbon dioxide, co2 concentration, co2 level
light illuminance+irradiance+par -a: 光照, 光照强度, 光照度, 照度, 光强, 光强度, 光照量, light, light intensity, illuminance, illumination, lux, luminance
par par -a: 光合有效辐射, 光合有效, 光合辐射, 光合有效辐射强度, 光量子, 光量子通量, 光量子通量密度, 光合光量子通量密度, 光子通量密度, par, ppfd, photosynthetically active radiation, photosynthetic photon flux density, light quantum
radiation irradiance -a: 辐射, 辐射强度, 总辐射, 太阳辐射, 太阳总辐射, 太阳辐射强度, 总辐射强度, 太阳能辐射, 辐照度, 太阳辐照度, 光辐射, radiation, solar radiation, global radiation, irradiance, solar irradiance, solar
net_radiation other -a: 净辐射, net radiation
uv_radiation other -a: 紫外线, 紫外辐射, 紫外线强度, 紫外线辐射, uv, uv radiation, ultraviolet
uv_index other -a: 紫外线指数, uv index, uvi
radiation_sum other -a: 辐射累积, 累积辐射, 累计辐射, 辐射累计, 累计辐射量, 光积, 积光, 光照累积, 光积累, radiation sum, light sum
daily_light_integral other -a: 日光积分, 日累积光量, dli, daily light integral
sunshine_duration other -a: 日照时数, 日照时间, 日照时长, sunshine duration, sunshine hours
dew_point dew_point -a: 露点, 露点温度, dew point, dew point temperature, dewpoint, dew temp
wet_bulb_temperature temperature -a: 湿球温度, wet bulb temperature, wet bulb
vpd vpd -a: vpd, 饱和水汽压差, 饱和水气压差, 饱和蒸汽压差, 饱和蒸气压差, 水汽压差, 水气压差, 蒸汽压差, 蒸气压差, 水汽压亏缺, 水汽压饱和差, vapour pressure deficit, vapor pressure deficit
vpd ?vpd -a: 饱和差
enthalpy other -a: 焓, 焓值, enthalpy
wind_speed wind_speed -a: 风速, 风速度, wind speed, wind velocity, windspeed, wind spd
wind_gust wind_speed -a: 阵风, 阵风风速, 阵风速度, wind gust, gust
wind_direction wind_direction -a: 风向, 风向角, 风向角度, wind direction, wind dir, winddirection
wind_force other -a: 风力, 风力等级, 风级, wind force, wind level, wind scale
air_pressure pressure -: 大气压, 大气压力, 大气压强, 气压, 空气压力, air pressure, atmospheric pressure, barometric pressure, barometer, barometric
air_pressure pressure o: 大气压, 大气压力, 气压, air pressure, atmospheric pressure
rain rain+rain_rate -a: 雨量, 降雨量, 降水量, rainfall, rain amount, precipitation, rain gauge
rain ?rain+rain_rate -a: 降雨, 雨, 降水, rain
rain_total rain -a: 累计雨量, 累积雨量, 雨量累计, 总雨量, 累计降雨量, 累积降雨量, 累计降水量, total rain, total rainfall, rain total, rainfall total
rain_today rain -a: 日雨量, 今日雨量, 当日雨量, 日降雨量, 今日降雨量, 当日降雨量, 当天降雨量, daily rain, daily rainfall, rain today, rainfall today
rain_hour rain+rain_rate -a: 小时雨量, 小时降雨量, 时雨量, 时降雨量, hourly rain, hourly rainfall, rain hour
rain_rate rain_rate -a: 雨强, 雨量强度, 降雨强度, 降水强度, 降雨速率, 小时降雨强度, rain rate, rain intensity, rainfall rate, rainfall intensity, precipitation rate, precipitation intensity
rain_detected other -a: 雨雪, 雨雪状态, 降雨状态, 下雨, 感雨, 雨感, 有无雨, 有无雨雪, 是否下雨, 是否有雨, 雨滴, rain detected, rain detector, is raining
snow_depth other -a: 雪深, 积雪深度, 积雪厚度, snow depth
evaporation other -a: 蒸发, 蒸发量, 水面蒸发, 水面蒸发量, evaporation
evapotranspiration other -a: 蒸散量, 蒸腾量, 作物蒸散, evapotranspiration, et0
visibility other -a: 能见度, visibility
`;

export const groundAndWaterNames = `
moisture soil_moisture g: 湿度, 相对湿度, 湿, 水分, 水份, 含水率, 含水量, 水分含量, 水分率, 体积含水率, 体积含水量, 容积含水率, 墒情, 墒, moisture, humidity, humi, hum, water content, vwc, volumetric water content, moisture content
moisture soil_moisture -: 水分, 水份, 含水率, 含水量, 体积含水率, 体积含水量, 墒情, moisture, vwc, water content, volumetric water content
ec ec -gl: ec, 电导率, 电导, 电导度, 电导率ec, ec电导率, conductivity, electrical conductivity, electric conductivity
ph ph -gl: ph, 酸碱度, 酸碱值, 酸度, 酸碱性, 酸碱度ph, ph酸碱度
salinity other -gl: 盐分, 盐度, 盐分含量, 含盐量, salinity, salt
tds other -gl: tds, 总溶解固体, 总溶解性固体, 可溶性固体, total dissolved solids
water_potential other -g: 水势, 土水势, 基质势, 水张力, 张力, water potential, tension, matric potential, water tension
heat_flux other -g: 热通量, 热流, heat flux
nitrogen other -gl: 氮, 氮含量, 速效氮, 有效氮, 全氮, 碱解氮, 氮素, nitrogen
phosphorus other -gl: 磷, 磷含量, 速效磷, 有效磷, 全磷, phosphorus
potassium other -gl: 钾, 钾含量, 速效钾, 有效钾, 全钾, potassium
nitrate other -gl: 硝酸盐, 硝态氮, 硝酸根, nitrate
ammonium other -gl: 铵态氮, 铵氮, 氨氮, ammonium
calcium other -gl: 钙, 钙离子, calcium
wetness other f: 湿度, 湿, 水分, 润湿度, 表面湿度, wetness, humidity, moisture
pressure pressure -l: 压力, 压强, pressure
pressure pressure l: 压
differential_pressure other -a: 压差, 差压, 负压, 静压, 室内外压差, differential pressure, static pressure
flow flow -l: 流量, 流率, 流量计, 流量速度, flow, flow rate, flow meter, flowrate
flow_velocity other -l: 流速, 水流速度, flow velocity
flow_total other -l: 累计流量, 累积流量, 总流量, 流量累计, 流量总计, 累计水量, 累积水量, total flow, flow total, cumulative flow
water_volume other -l: 用水量, 总用水量, 累计用水量, 灌溉量, 灌水量, 水量, 日用水量, water volume, water consumption, water usage
volume other l: 量, volume, amount
level other -l: 液位, 液面, 液位高度, 液面高度, level
level other l: 位, 位高度, 水位, 水位高度, water level
depth other -l: 水深, 深度, depth
dissolved_oxygen other -l: 溶解氧, 溶氧, 溶氧量, 溶解氧含量, dissolved oxygen
orp other -l: orp, 氧化还原电位, redox, redox potential
turbidity other -l: 浊度, turbidity
`;

export const airAndDeviceNames = `
oxygen other -a: 氧气, 氧气浓度, 氧气含量, 氧含量, o2, oxygen
ammonia other -a: 氨气, 氨气浓度, 氨, nh3, ammonia
hydrogen_sulfide other -a: 硫化氢, 硫化氢浓度, h2s, hydrogen sulfide
carbon_monoxide other -a: 一氧化碳, 一氧化碳浓度, carbon monoxide
methane other -a: 甲烷, 甲烷浓度, ch4, methane
sulfur_dioxide other -a: 二氧化硫, 二氧化硫浓度, so2, sulfur dioxide
nitrogen_dioxide other -a: 二氧化氮, 二氧化氮浓度, no2, nitrogen dioxide
ozone other -a: 臭氧, 臭氧浓度, o3, ozone
ethylene other -a: 乙烯, 乙烯浓度, ethylene
formaldehyde other -a: 甲醛, 甲醛浓度, hcho, formaldehyde
tvoc other -a: tvoc, 总挥发性有机物, voc
pm25 other -a: pm2.5, pm2.5浓度, 细颗粒物
pm10 other -a: pm10, pm10浓度, 可吸入颗粒物
negative_ions other -a: 负氧离子, 负离子, 负氧离子浓度, negative ions
air_quality other -: 空气质量, 空气质量指数, aqi, air quality
noise other -a: 噪声, 噪音, 噪声值, 分贝, noise, sound level
stem_diameter other -: 茎粗, 茎秆直径, 茎杆直径, 茎秆微变化, 茎流直径, stem diameter
sap_flow other -: 茎流, 茎流速率, sap flow
fruit_diameter other -: 果径, 果实直径, 果实膨大, fruit diameter, fruit growth
plant_height other -: 株高, 植株高度, plant height
weight other -: 重量, 称重, weight
battery battery+voltage -: 电池电量, 剩余电量, 电池剩余电量, 电量百分比, 蓄电池电量, 设备电量, battery level, battery percentage, battery percent, battery capacity
battery ?battery+voltage -: 电池, 蓄电池, battery
charge ?battery -: 电量, charge
battery_voltage voltage -: 电池电压, 蓄电池电压, 电瓶电压, 锂电池电压, battery voltage, vbat
supply_voltage voltage -: 供电电压, 电源电压, 工作电压, 设备电压, 输入电压, supply voltage, power supply voltage, input voltage
solar_voltage voltage -: 太阳能电压, 太阳能板电压, 光伏电压, solar voltage, solar panel voltage
voltage voltage -: 电压, voltage
voltage_a voltage -: a相电压
voltage_b voltage -: b相电压
voltage_c voltage -: c相电压
current other -: 电流, 工作电流, electric current
power other -: 功率, 有功功率, 用电功率, power
energy other -: 电能, 用电量, 耗电量, 总用电量, 有功电能, energy, power consumption, electricity
frequency other -: 频率, frequency
speed other -: 转速, speed
signal_strength other -: 信号, 信号强度, 信号质量, 信号值, rssi, csq, signal, signal strength
device_temperature temperature -: 设备温度, 控制器温度, 机箱温度, 主板温度, 箱体温度, 柜内温度, 电控柜温度, 控制柜温度, device temperature, controller temperature, board temperature
device_humidity humidity -: 设备湿度, 机箱湿度, 箱体湿度, 柜内湿度, 控制柜湿度
heating_temperature temperature -: 供暖温度, 采暖温度, 暖气温度, 加热温度, 加温温度, heating temperature
heating_supply_temperature temperature -: 供暖供水温度, 采暖供水温度, 供暖进水温度, 暖气供水温度, heating supply temperature
heating_return_temperature temperature -: 供暖回水温度, 采暖回水温度, 暖气回水温度, heating return temperature
wet_curtain_temperature temperature -: 湿帘温度, 湿帘水温, wet curtain temperature
temperature_difference other -: 温差, 昼夜温差, 内外温差, 室内外温差, 室内外温度差, 温度差, temperature difference
`;

export interface Quantity extends Kinds {
  readonly word: string;
  /** The first Chinese name; null for none. */
  readonly chinese: string | null;
}

export interface Place {
  /** Empty where the place adds nothing to the id. */
  readonly word: string;
  readonly chinese: string | null;
  readonly group: string;
  readonly class: string;
}

export interface Catalogue {
  /** By class of place, `/` and name, such as `-/温度`, `g/温度`. */
  readonly quantities: ReadonlyMap<string, Quantity>;
  readonly places: ReadonlyMap<string, Place>;
  readonly longestPlace: number;
}

let loaded: Catalogue | null = null;

/** The tables, parsed when the first sensor is seen. */
export function catalogue(): Catalogue {
  loaded ??= { quantities: readQuantities(), ...readPlaces() };
  return loaded;
}

/** Every name that means a quantity by itself; the golden file lists them all. */
export const plainNames = (): readonly string[] =>
  rows(`${climateNames}${groundAndWaterNames}${airAndDeviceNames}`)
    .filter(([, , classes]) => classes.includes("-"))
    .flatMap(([, , , names]) => names);

type Row = readonly [first: string, second: string, third: string, names: readonly string[]];

const rows = (text: string): readonly Row[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [head = "", names = ""] = line.split(": ");
      const [first = "", second = "", third = ""] = head.split(" ");
      return [first, second, third, names.split(", ")];
    });

const chineseOf = (names: readonly string[]): string | null =>
  names.find((name) => /\p{Script=Han}/u.test(name)) ?? null;

function readQuantities(): ReadonlyMap<string, Quantity> {
  const entries = new Map<string, Quantity>();
  for (const text of [climateNames, groundAndWaterNames, airAndDeviceNames])
    for (const [word, kinds, classes, names] of rows(text)) {
      const quantity = { word, chinese: chineseOf(names), ...kindsOf(kinds) };
      for (const place of classes)
        for (const name of names) entries.set(`${place}/${compact(name)}`, quantity);
    }
  return entries;
}

function readPlaces(): { places: ReadonlyMap<string, Place>; longestPlace: number } {
  const entries = new Map<string, Place>();
  for (const [word, group, placeClass, names] of rows(placeNames)) {
    const place = { word: word === "~" ? "" : word, chinese: chineseOf(names), group, class: placeClass };
    for (const name of names) entries.set(compact(name), place);
  }
  return { places: entries, longestPlace: Math.max(...[...entries.keys()].map((name) => name.length)) };
}

/*
 * Codes that are too short or local to be names, `kinds: codes`. They give a kind but no word, as a code is its own id.
 * `?`: only where a unit decides (`wd` is wenDu, a temperature, on one platform and wind direction on the next).
 * A number may follow. Codes without a known meaning (`lp`) are left out: their sensors stay `other`.
 */
const factorCodes = `
temperature: t, tmp, airt, kqwd, snwd, swwd
humidity: h, kqsd, snsd, swsd, airh
co2: eyht, co2nd, eyhtnd
illuminance+irradiance+par: gz, gzqd, gzd
soil_temperature: trwd, soilt, tsoil
soil_moisture: trsd, trsf, trhsl, soilh, soilm, soilw
ec: ecfii, trec, trddl, soilcond
ph: phfii, trph
pressure: dqy, dqyl, baro, atmos
wind_speed: wspd
wind_direction: wdir
rain+rain_rate: jyl
?temperature+wind_direction: wd
?temperature: ta, at, ts, wt, tw
?humidity: sd, ha, ah
?soil_temperature: st
?soil_moisture: sm, sh, sf
?wind_speed: fs, ws
?wind_direction: fx
?rain+rain_rate+pressure: yl
?irradiance: fs, sr, rad, zfs
?pressure: p, qy, press, sy
?flow: ll, q
?voltage: v, vol, vcc, dy
?battery+voltage: bat, batt, dl
?dew_point: dp, ld
?illuminance: ill, lum
`;

let table: ReadonlyMap<string, Kinds> | null = null;

function codeTable(): ReadonlyMap<string, Kinds> {
  const entries = new Map<string, Kinds>();
  for (const line of factorCodes.trim().split("\n")) {
    const [kinds, codes] = line.split(": ");
    for (const code of codes?.split(", ") ?? [])
      entries.set(code, merge(entries.get(code), kindsOf(kinds ?? "")));
  }
  return entries;
}

// A code on two lines can mean either; only the unit decides.
function merge(held: Kinds | undefined, more: Kinds): Kinds {
  if (held === undefined) return more;
  const kinds: readonly SensorKind[] = [...held.kinds, ...more.kinds];
  return { kinds, needsUnit: true };
}

/** The kinds that a short code can mean, in any case and with a number at its end; null for an unknown code. */
export function kindsOfCode(code: string): Kinds | null {
  table ??= codeTable();
  const plain = code.trim().toLowerCase();
  const [, stem = ""] = /^([a-z]+)[_-]?\d{1,3}$/.exec(plain) ?? [];
  return table.get(plain) ?? table.get(stem) ?? null;
}

/*
 * Names of running statuses: `word: names`. Words are part of topics, so none is ever changed; a new name is added to
 * the golden file of the tests.
 */
const statusNameTable = `
fan: 风机, 排风机, 轴流风机
circulation_fan: 循环风机, 环流风机
wet_curtain: 湿帘, 水帘, 湿帘水泵, 湿帘泵
outdoor_roof_spray: 室外顶喷淋, 室外顶部喷淋, 外顶喷淋, 屋顶喷淋
left_skylight: 左天窗
right_skylight: 右天窗
skylight: 天窗, 顶窗, 顶开窗
side_vent: 侧通风窗, 侧窗, 侧开窗, 侧风口
inner_shade_curtain: 内遮阳, 内遮阳幕, 内遮荫
outer_shade_curtain: 外遮阳, 外遮阳幕, 外遮荫
shade_curtain: 遮阳, 遮阳幕
inner_thermal_curtain: 内保温, 内保温幕
thermal_curtain: 保温, 保温被, 保温幕
grow_light: 补光灯, 补光
mist_humidifier: 喷雾加湿, 加湿器, 加湿
mist_cooling: 微雾降温, 喷雾降温, 微雾
co2_supply: co2补气, co2供应, 二氧化碳补气, 二氧化碳供应
uv_disinfection: 紫外消毒, 紫外线消毒
hot_air_blower: 热风机, 热风炉, 暖风机
heating: 加热, 加温, 供暖
pump: 水泵
irrigation_pump: 灌溉泵, 灌溉水泵
fertilizer_pump: 施肥泵, 肥泵
stirrer: 搅拌, 搅拌机, 搅拌电机
valve: 电磁阀, 阀门
irrigation: 灌溉, 浇水
irrigation_plan: 灌溉方案, 灌溉计划
`;

const words: ReadonlyMap<string, string> = new Map(
  statusNameTable
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [word = "", names = ""] = line.split(": ");
      return names.split(", ").map((name) => [compact(name), word] as const);
    }),
);

/** The fixed word for a running status's name; null unless the catalogue knows all of it. */
export function statusWord(name: string): string | null {
  if (name.length > 64) return null;
  const text = compact(name).replace(/(?:运行)?(?:状态)?$/u, "");
  const stage = /^([一二三四五六七八九十]|\d{1,2})级(风机)$/u.exec(text);
  if (stage) return `fan_stage_${digits(stage[1] ?? "")}`;
  const [, first = "", base = "", last = "", watering = ""] =
    /^(?:(\d{1,3})[号#])?(.*?\P{Nd})(\d{1,3}|[一二三四五六七八九十])?[号#]?(浇水)?$/u.exec(text) ?? [];
  const word = words.get(text) ?? words.get(base);
  if (word === undefined || (first !== "" && last !== "")) return null;
  if (words.has(text)) return word;
  if (watering !== "" && word !== "irrigation_plan") return null;
  const tail = [digits(first || last), watering === "" ? "" : "watering"].filter((part) => part !== "");
  return [word, ...tail].join("_");
}
