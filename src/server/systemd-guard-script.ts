import type { SystemdAccess } from './systemd-access.ts';
import type { SystemdJournal } from './systemd-journal.ts';
import { loadFolder, loadUnit } from './systemd-load-unit.ts';

/**
 * Text of the script that the timer on the target runs: nothing while the lease lasts, else it
 * brings production back. It needs /bin/sh and systemctl only.
 *
 * The lock goes first, so that a tuner that comes back meanwhile finds that it is not its own any
 * more. The timer stays until production runs, so a failed attempt is repeated.
 */
export function guardScript(
  access: SystemdAccess,
  journal: SystemdJournal,
  timerUnit: string,
): string {
  const { paths, userId } = access;
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const control = userId === undefined ? 'systemctl' : 'systemctl --user';
  const unit = quoted(access.unit);
  const began = quoted(paths.restoring);
  const comeBack = journal.wasActive
    ? `if [ -e ${began} ] || ! ${control} is-active --quiet ${unit}; then
  ${control} restart ${unit} && ${control} is-active --quiet ${unit} || exit 1
fi`
    : `${control} stop ${unit} || exit 1`;
  return `#!/bin/sh
# Written by nightsweep. Restores ${access.unit} when the tuner's lease has run out.
now=$(cut -d. -f1 /proc/uptime)
end=$(cat ${quoted(paths.lease)} 2>/dev/null)
[ -n "$end" ] && [ "$now" -lt "$end" ] && exit 0

rm -f ${quoted(paths.lock)}
${control} stop ${quoted(`${loadUnit(access)}.service`)} 2>/dev/null
rm -rf -- ${quoted(loadFolder(access))}
# Production is restarted only if a trial may be running; a failed attempt must not forget that.
[ -e ${quoted(paths.dropIn)} ] && : >${began}
rm -f ${quoted(paths.dropIn)} ${quoted(paths.environment)}
rmdir ${quoted(paths.dropIn.slice(0, paths.dropIn.lastIndexOf('/')))} 2>/dev/null
${control} daemon-reload || exit 1
${control} reset-failed ${unit} 2>/dev/null
${comeBack}
date -u +'lease %Y-%m-%dT%H:%M:%SZ' >${quoted(paths.restored)}
rm -f ${quoted(paths.journal)} ${quoted(paths.lease)} ${quoted(paths.guard)} ${began}
${control} stop ${quoted(`${timerUnit}.timer`)}
`;
}
