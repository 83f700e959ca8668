export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly folder: string;
}

export function isAllowed(license: unknown): boolean;
export function packageOf(file: string): BundledPackage | null;
export function noticesOf(packages: readonly BundledPackage[]): string;
