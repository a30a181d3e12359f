/** Colours of series by their place in a picture's legend; the baseline is always the first. */
export const SERIES_COLORS = 5;

/**
 * The report's style sheet: no font, picture or script from elsewhere. Series colours keep 3:1
 * against both backgrounds and differ in lightness, so that grey print still tells them apart.
 */
export const STYLE = `
:root { color-scheme: light dark;
  --surface: #ffffff; --raised: #f5f6f8; --text: #1c2024; --soft: #5d6670; --line: #d8dce1;
  --good: #18794e; --bad: #c62a2f; --warn: #9a5b00; --accent: #0b63ce;
  --series-0: #6b7480; --series-1: #0b63ce; --series-2: #c2410c; --series-3: #0f766e;
  --series-4: #7e3fc4; --series-5: #b4236d; --series-6: #8a6d00; --plot-background: var(--surface); }
@media (prefers-color-scheme: dark) { :root {
  --surface: #14171a; --raised: #1e2226; --text: #e8eaed; --soft: #a2abb5; --line: #363c43;
  --good: #4cc38a; --bad: #ff8b8b; --warn: #f5b94f; --accent: #70b1ff;
  --series-0: #a2abb5; --series-1: #70b1ff; --series-2: #ff9b6a; --series-3: #4fd1c5;
  --series-4: #c4a3ff; --series-5: #ff8fc2; --series-6: #e3c54a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--surface); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; overflow-wrap: anywhere; }
main { max-width: 980px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.2rem; margin: 40px 0 8px; padding-top: 12px; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 20px 0 4px; }
p { margin: 8px 0; } .soft, figcaption, caption { color: var(--soft); font-size: .875rem; }
.verdict { background: var(--raised); border-left: 5px solid var(--accent); border-radius: 6px;
  padding: 16px; margin: 16px 0; }
.verdict.winner { border-color: var(--good); } .verdict.none { border-color: var(--bad); }
.gain { font-size: 2.2rem; font-weight: 700; line-height: 1.15; margin: 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
nav { font-size: .875rem; margin: 12px 0; } nav a { margin-right: 14px; } a { color: var(--accent); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .85rem; }
pre { background: var(--raised); border-radius: 6px; padding: 12px; margin: 8px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
ins { color: var(--good); text-decoration: none; } del { color: var(--bad); text-decoration: none; }
.scroll { overflow-x: auto; max-width: 100%; overflow-wrap: normal; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 4px 10px 4px 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } th.text, td.text { text-align: left; }
th, td { white-space: nowrap; }
td.wide { min-width: 200px; white-space: normal; overflow-wrap: anywhere; }
tr.lead td { font-weight: 650; } tr.baseline td { background: var(--raised); }
figure { margin: 12px 0; } .plot svg { max-width: 100%; height: auto; overflow: visible; }
.plot.narrow { display: none; }
.legend { list-style: none; padding: 0; margin: 4px 0 8px; font-size: .875rem; }
.legend li { padding-left: 20px; position: relative; } .legend i { position: absolute; left: 0; top: .45em;
  width: 12px; height: 12px; border-radius: 3px; }
details { margin: 6px 0; } summary { cursor: pointer; } dl { display: grid; margin: 8px 0; font-size: .875rem;
  grid-template-columns: minmax(110px, max-content) 1fr; gap: 4px 16px; } dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
@media (max-width: 600px) { main { padding: 16px 12px 48px; } .plot.narrow { display: block; }
  .plot.wide { display: none; } .gain { font-size: 1.7rem; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 6px; } }
@media print { :root { --surface: #fff; --raised: #f5f6f8; --text: #000; --soft: #444; --line: #bbb;
  --series-0: #6b7480; --series-1: #0b63ce; --series-2: #c2410c; --series-3: #0f766e; --series-4: #7e3fc4;
  --series-5: #b4236d; --series-6: #8a6d00; --good: #18794e; --bad: #c62a2f; }
  body { font-size: 11pt; } nav { display: none; } .plot.narrow { display: none; } .plot.wide { display: block; }
  h2, h3 { break-after: avoid; } figure, tr, .verdict { break-inside: avoid; } .scroll { overflow: visible; } }
`.trim();
