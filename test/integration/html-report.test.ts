import { describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/report/html-report.ts';
import { elements, texts } from '../helpers/html-page.ts';
import { manyTrials, reportInput } from '../helpers/many-trials.ts';

describe('the HTML report', () => {
  test('of 300 trials at 6 concurrencies stays under 3 MB', () => {
    expect(Buffer.byteLength(htmlReport(reportInput(manyTrials(300))))).toBeLessThan(3e6);
  });

  test('asks nothing of the network: no address, script source or style sheet in it', () => {
    const page = htmlReport(reportInput(manyTrials(12)));
    const outside = page.match(/(?:src|href|url)\s*[=(]\s*["']?(?!#|data:)[^"')\s]+/g) ?? [];
    expect(outside).toEqual([]);
  });

  test('shows every throughput of the database, to the last digit, in its ranking', () => {
    const made = manyTrials(30);
    const page = htmlReport(reportInput(made));
    const shown = new Map(
      elements(page, 'tr[data-trial]').map((row) => [
        Number(row.getAttribute('data-trial')),
        [...row.querySelectorAll('td[data-value]')].map((cell) =>
          Number(cell.getAttribute('data-value')),
        ),
      ]),
    );
    const single = made.store.trials(made.study.id).filter(({ number }) => number >= 5);
    const stored = made.store.measurements(made.study.id);
    expect(single.length).toBe(25);
    for (const { id, number } of single) {
      const own = stored.filter(({ trialId }) => trialId === id);
      expect(shown.get(number)).toEqual(own.map((m) => m.metrics.outputTokensPerSecond));
    }
  });

  test('holds the ranking as JSON that equals what rank --json prints', () => {
    const input = reportInput(manyTrials(8));
    const [json = ''] = texts(htmlReport(input), '#nightsweep-ranking');
    const ranked = JSON.parse(json) as { readonly ranking: readonly { readonly score: number }[] };
    const expected = input.outcome.state === 'ranked' ? input.outcome.ranking.trials : [];
    expect(ranked.ranking.map(({ score }) => score)).toEqual(expected.map(({ score }) => score));
  });

  test('draws interval bars where throughputs are repeated, and says where they are not', () => {
    const bars = (page: string) => elements(page, '[aria-label=rule] line').length;
    const [repeated, single] = [manyTrials(5), manyTrials(5, 1)].map((made) =>
      htmlReport(reportInput(made)),
    );
    expect(bars(repeated ?? '')).toBeGreaterThan(bars(single ?? ''));
    expect(repeated).toContain('Bars are intervals');
    expect(single).toContain('No bars: nothing is measured in more than one launch');
  });

  test('shows the effect of each value that was launched, with its interval', () => {
    const page = htmlReport(reportInput(manyTrials(6)));
    const rows = texts(page, '#effects ~ .scroll tbody tr').filter((row) => row.includes(' to '));
    expect(rows.some((row) => row.includes('speculative-algorithm NEXTN'))).toBe(true);
  });

  test('shows temperature and clock of the GPUs during each measurement, and what slowed them', () => {
    const made = manyTrials(12);
    const page = htmlReport(reportInput(made));
    const dots = elements(page, '[aria-label="hottest GPU, °C"].wide circle title');
    expect(dots.length).toBe(made.store.measurements(made.study.id).length);
    expect(texts(page, '[aria-label="hottest GPU, °C"].wide circle title')).toContain('C=1: 80');
    expect(page).toContain('<code>sw_power_cap</code> during 18 of ');
  });

  test('shows text of a server as text, whatever it holds', () => {
    const made = manyTrials(3);
    const evil = '</pre><script>alert(1)</script>';
    const [, trial] = made.store.trials(made.study.id);
    if (trial === undefined) throw new Error('no trial');
    made.store.setTrialState(trial.id, 'infeasible', 'out-of-memory', evil);
    const page = htmlReport(reportInput(made));
    expect(page).not.toContain(evil);
    expect(texts(page, '#out ~ details summary').join()).toContain(evil);
  });

  test('of a sweep that was aborted before it could be ranked says why, and what is left', () => {
    const made = manyTrials(2);
    made.store.planTrials(made.study.id, [
      { assignment: { 'max-running-requests': 99 }, isBaseline: false, state: 'planned' },
    ]);
    const outcome = { state: 'unranked', problem: 'nothing is measured at 64' } as const;
    const page = htmlReport({ ...reportInput(made), outcome });
    expect(page).toContain('nothing is measured at 64');
    expect(texts(page, '#out ~ h3')).toContain('Not measured yet: 1');
  });

  test('tells a trial that was skipped from one that failed, each with its reason', () => {
    const made = manyTrials(2);
    made.store.planTrials(made.study.id, [
      {
        assignment: { a: 1 },
        isBaseline: false,
        state: 'skipped',
        cause: 'rule-x',
        reason: 'too deep',
      },
      {
        assignment: { a: 2 },
        isBaseline: false,
        state: 'failed',
        cause: 'disk-full',
        reason: 'no space',
      },
      {
        assignment: { a: 3 },
        isBaseline: false,
        state: 'skipped',
        cause: 'equivalent',
        reason: 'same as trial 1',
      },
    ]);
    const page = htmlReport(reportInput(made));
    expect(texts(page, '#out ~ h3')).toEqual(['Failed: 1', 'Equivalent: 1', 'Skipped: 1']);
    expect(texts(page, '#out ~ details summary')).toEqual([
      'disk-full: no space',
      'equivalent: same as trial 1',
      'rule-x: too deep',
    ]);
  });
});
