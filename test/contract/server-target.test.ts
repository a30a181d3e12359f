import { systemClock } from '../../src/clock.ts';
import { localTarget } from '../../src/server/local-target.ts';
import { serverTargetContract } from './server-target.contract.ts';

serverTargetContract('target on this machine', () =>
  localTarget({ clock: systemClock, stopSeconds: 10, killSeconds: 10 }),
);
