"""Colours and spacing of the page, light and dark as the reader's system is."""

from __future__ import annotations

#: The page's style sheet.
STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --text: #1b1f24; --faint: #5b6570; --rule: #d5dae0;
  --fill: #dcebfa; --edge: #2f6fb0; --plain: #f5f7f9; --change: #fdf0cf; --changeline: #a9780b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181d; --text: #e4e8ec; --faint: #9aa5b1; --rule: #343c45;
    --fill: #1d3c5c; --edge: #6fb1f0; --plain: #1d232a; --change: #463812; --changeline: #e0b04a; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 90rem; margin: 0 auto; padding: 1rem 1.5rem 3rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
p { max-width: 60rem; color: var(--faint); }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--rule);
  white-space: pre-wrap; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
figure { margin: 0; padding: .5rem; border: 1px solid var(--rule); border-radius: 6px; max-width: 100%;
  box-sizing: border-box; overflow-x: auto; }
figcaption { color: var(--faint); margin-bottom: .3rem; }
svg text { font: 12px ui-monospace, monospace; text-anchor: middle; fill: var(--text); }
svg text.name { font-weight: bold; }
svg rect { fill: var(--plain); stroke: var(--faint); stroke-dasharray: 4 3; }
svg .changed rect { fill: var(--fill); stroke: var(--edge); stroke-dasharray: none; }
svg .redistribution rect { fill: var(--change); stroke: var(--changeline); stroke-dasharray: none; }
svg path { fill: none; stroke: var(--faint); }
svg marker path { fill: var(--faint); stroke: none; }
"""
#: The tip of lines, which all drawings refer to.
ARROW = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><marker id="arrow" '
    'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/>'
    "</marker></defs></svg>"
)
