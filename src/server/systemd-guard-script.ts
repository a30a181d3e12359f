import type { SystemdAccess } from './systemd-access.ts';
import type { SystemdJournal } from './systemd-journal.ts';

/** Name, without `.service`, of the transient unit in which a sweep runs the load generator on the target. */
export function loadUnit({ unit }: Pick<SystemdAccess, 'unit'>): string {
  return `nightsweep-load-${unit.replace(/\.service$/, '').replaceAll(/[^A-Za-z0-9:_.-]/g, '-')}`;
}

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
  const comeBack = journal.wasActive
    ? `${control} restart ${unit} && ${control} is-active --quiet ${unit}`
    : `${control} stop ${unit}`;
  return `#!/bin/sh
# Written by nightsweep. Restores ${access.unit} when the tuner's lease has run out.
now=$(cut -d. -f1 /proc/uptime)
end=$(cat ${quoted(paths.lease)} 2>/dev/null)
[ -n "$end" ] && [ "$now" -lt "$end" ] && exit 0

rm -f ${quoted(paths.lock)}
${control} stop ${quoted(`${loadUnit(access)}.service`)} 2>/dev/null
rm -f ${quoted(paths.dropIn)} ${quoted(paths.environment)}
rmdir ${quoted(paths.dropIn.slice(0, paths.dropIn.lastIndexOf('/')))} 2>/dev/null
${control} daemon-reload || exit 1
${control} reset-failed ${unit} 2>/dev/null
{ ${comeBack}; } || exit 1
date -u +'lease %Y-%m-%dT%H:%M:%SZ' >${quoted(paths.restored)}
rm -f ${quoted(paths.journal)} ${quoted(paths.lease)} ${quoted(paths.guard)}
${control} stop ${quoted(`${timerUnit}.timer`)}
`;
}
