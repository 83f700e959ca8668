/*
 * Names of what is measured. A line is `word kinds places: names`.
 *
 * kinds: what it can be, the first one where no unit says otherwise; `?` in front: nothing without a unit.
 * places: `-` alone; or after the name of a place: `a` air, `g` ground, `f` leaf, `p` part of a plant or building, `l` liquid,
 * `o` only outdoors and indoors.
 * A word ends up in topics: it is never changed, and a new name goes to the golden file of the tests.
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
