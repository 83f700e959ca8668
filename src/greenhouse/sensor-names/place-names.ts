/*
 * What may stand before (or after) the name of a quantity: `word group class: names`. At most one of each group counts.
 *
 * groups: `side` of the glass, `medium`, `position`, `span` of time. class: which names of quantities fit (see
 * quantity-names.ts); `o` is outdoor or indoor and falls back to air, `-` changes nothing. `~` adds no word.
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
