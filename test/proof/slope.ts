export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Slope {
  /** y for each x. */
  readonly value: number;
  /** Half the width of its 95 % interval. */
  readonly margin: number;
}

/** The line of least squares through at least three points. */
export function slopeOf(points: readonly Point[]): Slope {
  const count = points.length;
  if (count < 3) throw new Error(`a slope needs three points, not ${count}`);
  const mean = (of: (point: Point) => number) => points.reduce((sum, point) => sum + of(point), 0) / count;
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)];
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const value = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const residual = points.reduce((sum, { x, y }) => sum + (y - meanY - value * (x - meanX)) ** 2, 0);
  return { value, margin: 1.96 * Math.sqrt(residual / (count - 2) / spread) };
}
