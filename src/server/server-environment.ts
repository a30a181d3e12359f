import { MARKER_VARIABLE } from './run-marker.ts';

/** Addresses that a server must reach without a proxy: its own warm-up request goes there. */
const OWN_ADDRESSES = ['127.0.0.1', 'localhost', '0.0.0.0'];

/**
 * The environment of a launch: the caller's, completed with what a launch under our watch needs.
 *
 * - `NIGHTSWEEP_RUN`: the marker by which every process of the launch is found again.
 * - `NO_PROXY`, `no_proxy`: with proxy variables set, SGLang sends its warm-up request to the proxy
 *   and ends itself minutes later (field report A17). Entries of the caller stay.
 * - `SPT_NOENV`: Python's setproctitle, with which SGLang names its schedulers, otherwise writes
 *   over `/proc/PID/environ`, and with it over the marker (seen with setproctitle on Linux).
 *
 * @param bindHosts hosts of the base URL and of `--host`.
 */
export function serverEnvironment(
  environment: Readonly<Record<string, string>>,
  markerValue: string,
  bindHosts: readonly string[],
): Record<string, string> {
  const given = [environment['NO_PROXY'], environment['no_proxy']].flatMap(
    (list) => list?.split(',').map((entry) => entry.trim()) ?? [],
  );
  const entries = [...given, ...OWN_ADDRESSES, ...bindHosts].filter((entry) => entry !== '');
  const noProxy = [...new Set(entries)].join(',');
  return {
    ...environment,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    SPT_NOENV: '1',
    [MARKER_VARIABLE]: markerValue,
  };
}

/** Values of `--host` in an argv, in both spellings; the last one wins on the server. */
export function hostFlags(argv: readonly string[]): string[] {
  return argv.flatMap((argument, i) => {
    if (argument === '--host') return argv[i + 1] ?? [];
    return argument.startsWith('--host=') ? argument.slice('--host='.length) : [];
  });
}
