import { expect, test } from 'vitest';
import { needsPassword, parseSudoRules } from '../../../src/host/sudo-rules.ts';

const LISTING = `Matching Defaults entries for alice on box:
    env_reset, use_pty

User alice may run the following commands on box:

Sudoers entry:
    RunAsUsers: root
    Commands:
\tALL

Sudoers entry:
    RunAsUsers: root
    Options: !authenticate
    Commands:
\t/usr/bin/systemctl start *
\t/usr/bin/cat

Sudoers entry:
    RunAsUsers: root
    Options: authenticate
    Commands:
\t/usr/bin/systemctl start secret.service
`;

test.each([
  { command: '/usr/bin/systemctl start llm.service', want: false },
  { command: '/usr/bin/cat -- /any/file', want: false },
  { command: '/usr/bin/systemctl stop llm.service', want: true },
  { command: '/usr/bin/systemctl start secret.service', want: true },
])('$command asks for a password: $want', ({ command, want }) => {
  expect(needsPassword(parseSudoRules(LISTING), command)).toBe(want);
});

test('a command that no rule names is left to sudo itself', () => {
  expect(needsPassword([], '/usr/bin/id')).toBe(false);
});
