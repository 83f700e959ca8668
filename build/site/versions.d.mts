interface VersionLink {
  readonly text: string;
  readonly link: string;
  readonly target: string;
}

export function versionLinks(site: {
  readonly home?: string | undefined;
  readonly versions?: string;
  readonly language?: string;
  readonly newest: string;
}): readonly VersionLink[];
