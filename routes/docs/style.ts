/** The page's stylesheet: light and dark color schemes, responsive. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--back:#fff;--code:#f3f5f7;
--link:#0b5cad;--get:#0a6b3d;--post:#8a4b00;--put:#5b3fa8;--patch:#5b3fa8;--delete:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e3e7eb;--soft:#9aa5b1;--line:#30373f;--back:#0f1317;
--code:#191f25;--link:#7ab7ff;--get:#5fd39a;--post:#f0b35f;--put:#b9a2ff;--patch:#b9a2ff;
--delete:#ff8a80}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--back);color:var(--ink);
font:1rem/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{margin:.5rem 0 0}h2{margin:3rem 0 .3rem;border-bottom:2px solid var(--line)}
h3{margin:2.2rem 0 .3rem;font-size:1.1rem}h4{margin:1rem 0 .2rem;font-size:.9rem;color:var(--soft)}
p{margin:.4rem 0}a{color:var(--link)}
code,pre{font:.86em/1.5 ui-monospace,Menlo,Consolas,monospace;background:var(--code);
border-radius:.3rem}
code{padding:.08em .3em}pre{padding:.7rem;white-space:pre-wrap;margin:.4rem 0}
nav ul{columns:17rem;padding:0;margin:.2rem 0 .8rem;list-style:none}
nav li{break-inside:avoid;padding:.1rem 0}
.m{display:inline-block;min-width:4.2em;font-weight:700;font-size:.82em;letter-spacing:.03em}
.GET{color:var(--get)}.POST{color:var(--post)}.PUT{color:var(--put)}.PATCH{color:var(--patch)}
.DELETE{color:var(--delete)}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92em}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;
border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}td:first-child{white-space:nowrap}
.soft{color:var(--soft);font-size:.92em}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--soft)}
:target{scroll-margin-top:1rem;outline:2px solid var(--link);outline-offset:.4rem}
`.replaceAll("\n", "");
