import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type HelpText, parseHelp } from '../../src/sglang/help.ts';

/** Versions of SGLang whose real `--help` is in test/fixtures/help. */
export const HELP_VERSIONS = ['0.4.9', '0.5.2', '0.5.10', '0.5.20', '0.5.23'] as const;

/** Real `--help` text of an SGLang version. */
export function helpText(version: (typeof HELP_VERSIONS)[number]): string {
  const path = new URL(`../fixtures/help/sglang-${version}.txt.gz`, import.meta.url);
  return gunzipSync(readFileSync(path)).toString('utf8');
}

/** The same, parsed. */
export function sglangHelp(version: (typeof HELP_VERSIONS)[number]): HelpText {
  return parseHelp(helpText(version));
}
